internal import Synchronization

/// Has the disk keep what a store has committed, beside the store's writer: marks go on being written meanwhile. A disk that is
/// busy with the bytes of a large file takes tenths of a second for a sync, and a SIGKILL costs the marks that wait.
///
/// Commits that come while a sync runs share the next one.
final class CommitSync: Sendable {
    typealias Waiting = CheckedContinuation<DownloadError?, Never>

    private struct State {
        var waiting: [Waiting] = []
        var isScheduled = false
        /// The number of the newest transaction that is committed; the first is 1.
        var committed = 0
        /// A sync failed. The kernel may have dropped the pages, and report success from now on.
        var isLogDoubtful = false
    }
    private let state = Mutex(State())
    private let queue: SerialQueue
    private let syncLog: @Sendable () throws(DiskError) -> Void
    private let path: String
    private let observer: @Sendable (StoreEvent) -> Void

    init(
        _ queue: SerialQueue,
        path: String,
        syncLog: @escaping @Sendable () throws(DiskError) -> Void,
        observer: @escaping @Sendable (StoreEvent) -> Void
    ) {
        self.queue = queue
        self.path = path
        self.syncLog = syncLog
        self.observer = observer
    }

    /// Whether the next durable commit has to be copied from the log into the database.
    var isLogDoubtful: Bool { state.withLock { $0.isLogDoubtful } }

    /// Everything was copied from the log into the database, and the disk has that.
    func logWasCopied() { state.withLock { $0.isLogDoubtful = false } }

    /// A transaction was committed. Called on the store's own thread only.
    ///
    /// - Parameter waiting: told once the disk has it, or has failed to.
    func committed(_ waiting: [Waiting]) {
        // Told before a sync counts it: nobody hears that a commit is on the disk before hearing of the commit.
        let number = state.withLock { $0.committed + 1 }
        observer(.committed(number))
        let isFirst = state.withLock { state in
            state.committed = number
            state.waiting += waiting
            guard !waiting.isEmpty else { return false }
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        if isFirst { queue.async { self.sync() } }
    }

    private func sync() {
        let (waiting, number) = state.withLock { state in
            defer {
                state.waiting = []
                state.isScheduled = false
            }
            return (state.waiting, state.committed)
        }
        var failure: DownloadError?
        do throws(DiskError) {
            try syncLog()
            observer(.synced(number))
        } catch {
            state.withLock { $0.isLogDoubtful = true }
            let cause = DownloadError(error)
            failure =
                cause.code == .diskFull
                ? cause
                : DownloadError(.storeFailed, "The store \(path) cannot be brought to the disk. \(error.sentence)")
            failure.map { observer(.failed($0)) }
        }
        for continuation in waiting { continuation.resume(returning: failure) }
    }
}

/// What a store did in the background.
enum StoreEvent: Sendable {
    /// A transaction is committed. They are numbered from 1.
    case committed(Int)
    /// The disk has this transaction and all before it.
    case synced(Int)
    /// A transaction, or a sync.
    case failed(DownloadError)
}
