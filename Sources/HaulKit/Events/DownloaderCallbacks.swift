internal import Synchronization

/// A chain of closures that are called for all downloads of a downloader, or for those of a group.
///
/// A chain begins with the first call on a ``Downloader`` or a ``DownloadGroup``. It ends with ``stop()``, or when the
/// downloader shuts down or is released. No reference to the chain needs to be held, and the chain does not hold the
/// downloader.
///
/// ```swift
/// downloader.group("swift")
///     .onProgress { label.text = $0.receivedText }
///     .onFailure { print($0.name, $1.message) }
///     .onFinished { print($0.completed) }
/// ```
///
/// A chain gets the events of ``DownloaderEvents``. Closures that are more than 1,024 events behind miss the oldest.
/// Downloads that one call changes in bulk are not reported one by one.
public struct DownloaderCallbacks: Sendable {
    private let line: DownloaderCallbackLine

    init(_ events: DownloaderEvents) {
        line = DownloaderCallbackLine()
        line.follow(events)
    }

    /// Ends the chain. None of its closures is called from now on. Further calls do nothing.
    public func stop() { line.stop() }

    fileprivate func appending(_ callback: EventCallback<DownloaderEvent>) -> Self {
        line.append(callback)
        return self
    }

    fileprivate var isStopped: CancelFlag { line.isStopped }
}

/// A source of events for closures: a ``Downloader``, a ``DownloadGroup``, or a chain of such closures.
///
/// A closure is called for events after it was attached. Closures of one chain are called one after another, in the
/// order of the events. They run on the main actor and may use its state; the closures of ``onEvent(_:)`` run on
/// Swift's global executor.
public protocol DownloadCallbackSource {
    /// A chain to attach closures to.
    var callbacks: DownloaderCallbacks { get }
}

extension DownloaderCallbacks: DownloadCallbackSource {
    /// The chain itself: further closures are attached to it.
    public var callbacks: DownloaderCallbacks { self }
}

/// A source whose ``callbacks`` begins a new chain each time: a ``Downloader`` or a ``DownloadGroup``.
package protocol DownloadEventSource: DownloadCallbackSource {
    var events: DownloaderEvents { get }
}

extension DownloadEventSource {
    /// A new chain for the downloads of this source. After ``Downloader/shutDown()`` it gets no events.
    public var callbacks: DownloaderCallbacks { DownloaderCallbacks(events) }
}

extension DownloadGroup: DownloadCallbackSource, DownloadEventSource {}

extension Downloader: DownloadCallbackSource, DownloadEventSource {}

extension DownloadCallbackSource {
    /// Calls back on the main actor whenever state or progress of a download changes.
    @discardableResult
    public func onProgress(_ body: @escaping @MainActor (DownloadSnapshot) -> Void) -> DownloaderCallbacks {
        attach { event in if let snapshot = event.snapshot { body(snapshot) } }
    }

    /// Calls back on the main actor when the file of a download is complete.
    @discardableResult
    public func onSuccess(_ body: @escaping @MainActor (CompletedDownload) -> Void) -> DownloaderCallbacks {
        attach { event in if case .ended(_, .completed(let completed)) = event { body(completed) } }
    }

    /// Calls back on the main actor when the run of a download ends without a file. A cancelled run has the code
    /// ``DownloadError/Code/cancelled``.
    @discardableResult
    public func onFailure(
        _ body: @escaping @MainActor (DownloadSnapshot, DownloadError) -> Void
    ) -> DownloaderCallbacks {
        onCompletion { snapshot, result in if case .failure(let error) = result { body(snapshot, error) } }
    }

    /// Calls back on the main actor when the run of a download has ended, with its file or its error.
    @discardableResult
    public func onCompletion(
        _ body: @escaping @MainActor (DownloadSnapshot, Result<CompletedDownload, DownloadError>) -> Void
    ) -> DownloaderCallbacks {
        attach { event in if case .ended(let snapshot, let outcome) = event { body(snapshot, outcome.result) } }
    }

    /// Calls back on the main actor each time that none of the downloads waits or runs any more; see
    /// ``DownloaderEvent/finished(_:)``.
    @discardableResult
    public func onFinished(_ body: @escaping @MainActor (DownloadSummary) -> Void) -> DownloaderCallbacks {
        attach { event in if case .finished(let summary) = event { body(summary) } }
    }

    /// Calls back with every event, on Swift's global executor.
    @discardableResult
    public func onEvent(_ body: @escaping @Sendable (DownloaderEvent) -> Void) -> DownloaderCallbacks {
        let callbacks = callbacks
        let isStopped = callbacks.isStopped
        return callbacks.appending(.anywhere { event in if !isStopped.isSet { body(event) } })
    }

    private func attach(_ body: @escaping @MainActor (DownloaderEvent) -> Void) -> DownloaderCallbacks {
        let callbacks = callbacks
        let isStopped = callbacks.isStopped
        // Checked on the main actor, so that no closure is called after code on the main actor has stopped the chain.
        return callbacks.appending(.init { event in if !isStopped.isSet { body(event) } })
    }

}

extension DownloaderEvent {
    /// The snapshot of a change of state or progress; `nil` for other events.
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

    /// Starts the task that delivers the events. The task holds this object and ends with the sequence.
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
        task.withLock(\.self)?.cancel()
        callbacks.withLock { $0 = [] }
    }
}
