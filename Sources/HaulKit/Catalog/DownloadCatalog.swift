internal import DequeModule
internal import Foundation

/// The downloads that are in memory, and what keeps changes of which there are in order. In memory are those that run, and the next
/// ones of the queue; all others are rows of the store, and a place in the queue if they wait.
///
/// Confined to the actor of its downloader.
final class DownloadCatalog {
    /// Between two places of the queue's order: a gap for those that are moved there by hand.
    static let positionStep: Int64 = 1 << 16

    let factory: TaskFactory
    private let environment: TaskEnvironment
    private var store: DownloadStore { environment.services.store }
    /// Those in memory.
    private(set) var tasks: [DownloadID: DownloadTask] = [:]
    /// The place of the download that was added last.
    var position: Int64
    /// Calls under way that add downloads.
    var pendingAdditions = 0
    private var isLocked = false
    private var waiting: Deque<CheckedContinuation<Void, Never>> = []

    init(_ environment: TaskEnvironment, _ factory: TaskFactory, position: Int64) {
        self.environment = environment
        self.factory = factory
        self.position = position
    }

    /// The place behind all others.
    func nextPosition() -> Int64 {
        position += Self.positionStep
        return position
    }

    // MARK: One change at a time

    /// Returns when no other change is under way. Changes of which downloads there are, and of rows that are not in memory, are
    /// made one after another; none is begun once the downloader shuts down. ``unlock()`` is to be called after it.
    func lock(isolation: isolated (any Actor)? = #isolation) async throws(DownloadError) {
        try environment.checkIsOpen()
        if isLocked {
            await withCheckedContinuation { waiting.append($0) }
        } else {
            isLocked = true
        }
        guard environment.isShuttingDown else { return }
        unlock()
        throw .isShutDown
    }

    func unlock() {
        if let next = waiting.popFirst() { next.resume() } else { isLocked = false }
    }

    // MARK: Into memory and out of it

    /// Puts a task into memory.
    func insert(_ task: DownloadTask) { tasks[task.id] = task }

    /// Takes a task out of memory; no other one of the same id.
    func remove(_ task: DownloadTask) {
        if tasks[task.id] === task { tasks[task.id] = nil }
    }

    /// Puts a stored download into memory, if it is not there.
    @discardableResult
    func takeIn(_ saved: DownloadStore.Saved) -> DownloadTask? {
        guard let id = DownloadID(saved.record.id) else { return nil }
        if let task = tasks[id] { return task }
        let task = factory.task(saved, id)
        tasks[id] = task
        return task
    }

    /// The download of this id, in memory from now on; nil when there is none.
    func load(_ id: DownloadID, isolation: isolated (any Actor)? = #isolation) async throws(DownloadError)
        -> DownloadTask?
    {
        if let task = tasks[id] { return task }
        let saved = try await store.findReadable(id: id.description)
        try environment.checkIsOpen()
        return saved.flatMap { takeIn($0) }
    }

    /// A record in the place behind all others.
    func newRecord(_ request: DownloadRequest) -> DownloadRecord {
        let now = environment.services.time.date()
        var record = DownloadRecord(
            factory.nextID(at: now),
            request,
            createdAt: now,
            ownerNumber: store.owner.number,
            position: nextPosition()
        )
        if request.startsPaused { record.status = .paused }
        return record
    }
}
