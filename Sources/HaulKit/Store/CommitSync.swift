internal import Foundation
internal import Synchronization

/// Syncs the log of a store on its own queue, so that the store's writer can write noted ranges during a sync. A sync
/// takes tenths of a second on a disk that is busy with a large file, and a SIGKILL loses the notes that wait.
///
/// Commits that arrive during a sync share the next sync.
final class CommitSync: Sendable {
    typealias Waiting = CheckedContinuation<DownloadError?, Never>

    private struct State {
        var waiting: [Waiting] = []
        var isScheduled = false
        /// Number of the newest committed transaction; the first is 1.
        var committed = 0
        /// Number of the newest transaction that a sync has brought to the disk.
        var synced = 0
        /// Whether a sync has failed. The kernel may have dropped the pages and may report success for later syncs.
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

    /// Whether the next durable commit needs a checkpoint, which copies the log into the database.
    var isLogDoubtful: Bool { state.withLock { $0.isLogDoubtful } }

    /// Records that SQLite has copied the whole log into the database and synced the database.
    func logWasCopied() { state.withLock { $0.isLogDoubtful = false } }

    /// Reports a committed transaction. Schedules a sync if callers wait for one. Call only on the store's writer
    /// queue.
    ///
    /// - Parameter waiting: resumed after the sync, with an error if the sync failed.
    func committed(_ waiting: [Waiting]) {
        // Reports the commit before a sync can count it: the observer gets `committed` before `synced`.
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

    /// Syncs the commits that no sync has reached yet. Call only on the store's writer queue.
    ///
    /// - Returns: whether the disk has every commit.
    func end() -> Bool {
        let (isSynced, isLogDoubtful) = state.withLock { ($0.synced == $0.committed, $0.isLogDoubtful) }
        if isSynced || isLogDoubtful { return !isLogDoubtful }
        sync()
        return state.withLock { !$0.isLogDoubtful }
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
            state.withLock { $0.synced = max($0.synced, number) }
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

/// Event of a store's background work.
enum StoreEvent: Sendable {
    /// A transaction is committed. Transactions are numbered from 1.
    case committed(Int)
    /// The disk has this transaction and all before it.
    case synced(Int)
    /// A transaction or a sync failed.
    case failed(DownloadError)
}

/// Write-ahead log of a store: the file `-wal` beside the database. It holds the commits until SQLite copies them into
/// the database.
///
/// In NORMAL mode SQLite writes a commit to the log without waiting for the disk, and syncs the log only before copying
/// it (https://sqlite.org/pragma.html#pragma_synchronous). A sync of the log makes every earlier commit durable.
/// Commits that are no longer in the log are in the database, which SQLite syncs before it uses the log again.
final class StoreLog: Sendable {
    private let folder: String
    private let file: PosixFile
    private let hasName = Atomic<Bool>(false)

    /// - Parameter path: path of a database that stays open while this value is used, so that its log exists: SQLite
    ///   removes the log when the last connection closes.
    init(ofDatabaseAt path: String) throws(DiskError) {
        folder = FilePaths.folder(of: path)
        // SQLite locks the database, not the log, so closing the log releases no lock.
        file = try PosixFile(path + "-wal", flags: O_RDONLY)
    }

    /// Returns when the disk has every commit that returned before the call.
    func sync() throws(DiskError) {
        try file.sync()
        guard !hasName.load(ordering: .relaxed) else { return }
        try PosixDisk().syncFolder(folder)
        hasName.store(true, ordering: .relaxed)
    }
}
