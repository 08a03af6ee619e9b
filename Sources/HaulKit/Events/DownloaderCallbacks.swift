internal import Synchronization

/// A chain of closures that are called for all downloads of a downloader, or for those of a group.
///
/// It begins with the first call of the chain on a ``Downloader`` or a ``DownloadGroup``, and ends with ``stop()`` or when the
/// downloader shuts down or is let go of. Neither the chain nor the downloader needs to be held for it.
///
/// ```swift
/// downloader.group("swift")
///     .onProgress { label.text = $0.receivedText }
///     .onFailure { print($0.name, $1.message) }
///     .onFinished { print($0.completed) }
/// ```
///
/// It is told what ``DownloaderEvents`` tells: closures that are more than 1,024 events behind miss the oldest, and downloads that a
/// call changes in bulk are not told one by one.
public struct DownloaderCallbacks: Sendable {
    private let line: DownloaderCallbackLine

    init(_ events: DownloaderEvents) {
        line = DownloaderCallbackLine()
        line.follow(events)
    }

    /// Ends the chain: from now on none of its closures is called. Calling it again does nothing.
    public func stop() { line.stop() }

    fileprivate func appending(_ callback: EventCallback<DownloaderEvent>) -> Self {
        line.append(callback)
        return self
    }

    fileprivate var isStopped: CancelFlag { line.isStopped }
}

/// What closures can be attached to for many downloads: a ``Downloader``, a ``DownloadGroup``, and a chain of such closures.
///
/// A closure hears what happens from its call on. Those of one chain are called one after another, in the order of what happened.
/// They run on the main actor and may touch its state, unless ``Download/CallbackPlace/anywhere`` is asked for.
public protocol DownloadCallbackSource {
    /// A chain to attach closures to.
    var callbacks: DownloaderCallbacks { get }
}

extension DownloaderCallbacks: DownloadCallbackSource {
    /// This chain.
    public var callbacks: DownloaderCallbacks { self }
}

extension DownloadGroup: DownloadCallbackSource {
    /// A new chain for the downloads of this group. After ``Downloader/shutDown()`` nothing is told to it.
    public var callbacks: DownloaderCallbacks { DownloaderCallbacks(events) }
}

extension Downloader: DownloadCallbackSource {
    /// A new chain for all downloads. After ``shutDown()`` nothing is told to it.
    public nonisolated var callbacks: DownloaderCallbacks { DownloaderCallbacks(events) }
}

extension DownloadCallbackSource {
    /// Calls back on the main actor whenever state or progress of a download change.
    @discardableResult
    public func onProgress(_ body: @escaping @MainActor (DownloadSnapshot) -> Void) -> DownloaderCallbacks {
        attach { event in if let snapshot = event.snapshot { body(snapshot) } }
    }

    /// Calls back whenever state or progress of a download change.
    @discardableResult
    public func onProgress(
        on place: Download.CallbackPlace,
        _ body: @escaping @Sendable (DownloadSnapshot) -> Void
    ) -> DownloaderCallbacks {
        attach(on: place) { event in if let snapshot = event.snapshot { body(snapshot) } }
    }

    /// Calls back on the main actor when the file of a download is there.
    @discardableResult
    public func onSuccess(_ body: @escaping @MainActor (CompletedDownload) -> Void) -> DownloaderCallbacks {
        attach { event in if case .ended(_, .completed(let completed)) = event { body(completed) } }
    }

    /// Calls back when the file of a download is there.
    @discardableResult
    public func onSuccess(
        on place: Download.CallbackPlace,
        _ body: @escaping @Sendable (CompletedDownload) -> Void
    ) -> DownloaderCallbacks {
        attach(on: place) { event in if case .ended(_, .completed(let completed)) = event { body(completed) } }
    }

    /// Calls back on the main actor when the run of a download ends without a file; a cancelled one has the code
    /// ``DownloadError/Code/cancelled``.
    @discardableResult
    public func onFailure(
        _ body: @escaping @MainActor (DownloadSnapshot, DownloadError) -> Void
    ) -> DownloaderCallbacks {
        onCompletion { snapshot, result in if case .failure(let error) = result { body(snapshot, error) } }
    }

    /// Calls back when the run of a download ends without a file; a cancelled one has the code ``DownloadError/Code/cancelled``.
    @discardableResult
    public func onFailure(
        on place: Download.CallbackPlace,
        _ body: @escaping @Sendable (DownloadSnapshot, DownloadError) -> Void
    ) -> DownloaderCallbacks {
        onCompletion(on: place) { snapshot, result in
            if case .failure(let error) = result { body(snapshot, error) }
        }
    }

    /// Calls back on the main actor when the run of a download has ended one way or the other.
    @discardableResult
    public func onCompletion(
        _ body: @escaping @MainActor (DownloadSnapshot, Result<CompletedDownload, DownloadError>) -> Void
    ) -> DownloaderCallbacks {
        attach { event in if case .ended(let snapshot, let outcome) = event { body(snapshot, outcome.result) } }
    }

    /// Calls back when the run of a download has ended one way or the other.
    @discardableResult
    public func onCompletion(
        on place: Download.CallbackPlace,
        _ body: @escaping @Sendable (DownloadSnapshot, Result<CompletedDownload, DownloadError>) -> Void
    ) -> DownloaderCallbacks {
        attach(on: place) { event in
            if case .ended(let snapshot, let outcome) = event { body(snapshot, outcome.result) }
        }
    }

    /// Calls back on the main actor each time that none of the downloads waits or runs any more: see ``DownloaderEvent/finished(_:)``.
    @discardableResult
    public func onFinished(_ body: @escaping @MainActor (DownloadSummary) -> Void) -> DownloaderCallbacks {
        attach { event in if case .finished(let summary) = event { body(summary) } }
    }

    /// Calls back each time that none of the downloads waits or runs any more: see ``DownloaderEvent/finished(_:)``.
    @discardableResult
    public func onFinished(
        on place: Download.CallbackPlace,
        _ body: @escaping @Sendable (DownloadSummary) -> Void
    ) -> DownloaderCallbacks {
        attach(on: place) { event in if case .finished(let summary) = event { body(summary) } }
    }

    private func attach(_ body: @escaping @MainActor (DownloaderEvent) -> Void) -> DownloaderCallbacks {
        let callbacks = callbacks
        let isStopped = callbacks.isStopped
        // Asked on the main actor: what stops the chain there is not called back after it.
        return callbacks.appending(.init { event in if !isStopped.isSet { body(event) } })
    }

    private func attach(
        on place: Download.CallbackPlace,
        _ body: @escaping @Sendable (DownloaderEvent) -> Void
    ) -> DownloaderCallbacks {
        let callbacks = callbacks
        let isStopped = callbacks.isStopped
        return callbacks.appending(.init(place: place) { event in if !isStopped.isSet { body(event) } })
    }
}

extension DownloaderEvent {
    /// Of a change of state or progress.
    fileprivate var snapshot: DownloadSnapshot? {
        switch self {
        case .changed(let snapshot), .progressed(let snapshot): snapshot
        case .added, .removed, .ended, .changedTogether, .addedTogether, .removedTogether, .finished: nil
        }
    }
}

/// The closures of one chain, and the task that calls them.
private final class DownloaderCallbackLine: Sendable {
    private let callbacks = Mutex<[EventCallback<DownloaderEvent>]>([])
    private let task = Mutex<Task<Void, Never>?>(nil)
    let isStopped = CancelFlag()

    func append(_ callback: EventCallback<DownloaderEvent>) {
        guard !isStopped.isSet else { return }
        callbacks.withLock { $0.append(callback) }
    }

    /// Held by the task, which ends with the sequence.
    func follow(_ events: DownloaderEvents) {
        let task = Task {
            for await event in events {
                for callback in callbacks.withLock({ $0 }) { await callback(event) }
            }
            callbacks.withLock { $0 = [] }
        }
        self.task.withLock { $0 = task }
    }

    func stop() {
        isStopped.set()
        task.withLock { $0?.cancel() }
        callbacks.withLock { $0 = [] }
    }
}
