internal import DequeModule
internal import Foundation

/// The downloads in memory, and the lock that lets changes of the catalogue run one after another. Running downloads
/// and the next ones of the queue are in memory. All others are only rows of the store, with a position in the queue if
/// they wait.
///
/// Confined to the actor of its downloader.
final class DownloadCatalog {
    /// Distance between two positions in the queue. The gap leaves room for downloads that ``Downloader/move(_:to:)``
    /// puts between two others.
    static let positionStep: Int64 = 1 << 16

    let factory: TaskFactory
    private let environment: TaskEnvironment
    private var store: DownloadStore { environment.services.store }
    private(set) var tasks: [DownloadID: DownloadTask] = [:]
    /// The last position in the queue.
    var position: Int64
    /// Number of calls in progress that add downloads.
    var pendingAdditions = 0
    private var isLocked = false
    private var waiting: Deque<CheckedContinuation<Void, Never>> = []

    init(_ environment: TaskEnvironment, _ factory: TaskFactory, position: Int64) {
        self.environment = environment
        self.factory = factory
        self.position = position
    }

    /// Returns the position behind all others.
    func nextPosition() -> Int64 {
        position += Self.positionStep
        return position
    }

    // MARK: One change at a time

    /// Waits until no other change of the catalogue is in progress. The caller must call ``unlock()`` after its change.
    ///
    /// Adding and removing downloads, and changes of the rows of downloads that are not in memory, run one after
    /// another under this lock.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/shutDown`` once the downloader shuts down.
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

    func insert(_ task: DownloadTask) { tasks[task.id] = task }

    /// Takes a task out of memory. Another task with the same id stays.
    func remove(_ task: DownloadTask) {
        if tasks[task.id] === task { tasks[task.id] = nil }
    }

    /// Puts a stored download into memory, unless it is there already, and returns its task; `nil` if the id of its
    /// record is unreadable.
    @discardableResult
    func takeIn(_ saved: DownloadStore.Saved) -> DownloadTask? {
        guard let id = DownloadID(saved.record.id) else { return nil }
        if let task = tasks[id] { return task }
        let task = factory.task(saved, id)
        tasks[id] = task
        return task
    }

    /// Loads a download into memory and returns its task, or `nil` if the store has no such download.
    func load(_ id: DownloadID, isolation: isolated (any Actor)? = #isolation) async throws(DownloadError)
        -> DownloadTask?
    {
        if let task = tasks[id] { return task }
        let saved = try await store.findReadable(id: id.description)
        try environment.checkIsOpen()
        return saved.flatMap { takeIn($0) }
    }

    /// Makes a record with the position behind all others.
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
