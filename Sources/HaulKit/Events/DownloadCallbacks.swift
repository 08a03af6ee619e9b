/// Closures instead of event sequences. Each call returns the handle for the next call of a chain. A call may be made
/// at any time, because the present state is reported at once.
///
/// ```swift
/// download
///     .onProgress { label.text = $0.receivedText }
///     .onSuccess { print($0.path) }
///     .onFailure { print($0.message) }
/// ```
///
/// The closures of one chain run one after another, in the order of the events: each event is delivered to all of them
/// before the next event. The end of a run is delivered once, last, to each closure that listens for it. Closures run
/// on the main actor, except those of ``Download/onEvent(_:)``. Two chains do not wait for each other.
///
/// A chain continues with the next run of a download that is resumed or retried after its end, as long as a handle of
/// the download is held. During a run no handle needs to be held. Closures do not keep a downloader alive; the handle
/// of a download does. When the downloader shuts down or is released, runs that have not ended end with
/// ``DownloadError/Code/shutDown``, and their chains end too.
extension Download {
    /// Calls back on the main actor with the present state, and then whenever state or progress changes.
    @discardableResult
    public func onProgress(_ body: @escaping @MainActor (DownloadSnapshot) -> Void) -> Download {
        listen(.init { event in if let snapshot = event.snapshot { body(snapshot) } })
    }

    /// Calls back on the main actor when the file is complete, once per run. Not called when a run ends without a file.
    @discardableResult
    public func onSuccess(_ body: @escaping @MainActor (CompletedDownload) -> Void) -> Download {
        onCompletion { result in if case .success(let completed) = result { body(completed) } }
    }

    /// Calls back on the main actor when a run ends without a file. A cancelled run has the code
    /// ``DownloadError/Code/cancelled``. A pause does not end a run.
    @discardableResult
    public func onFailure(_ body: @escaping @MainActor (DownloadError) -> Void) -> Download {
        onCompletion { result in if case .failure(let error) = result { body(error) } }
    }

    /// Calls back on the main actor when a run has ended, once per run, with its file or its error.
    @discardableResult
    public func onCompletion(
        _ body: @escaping @MainActor (Result<CompletedDownload, DownloadError>) -> Void
    ) -> Download {
        listen(.init { event in if case .ended(let outcome) = event { body(outcome.result) } })
    }

    /// Calls back on Swift's global executor with the present state, and then with every event of the download.
    @discardableResult
    public func onEvent(_ body: @escaping @Sendable (DownloadEvent) -> Void) -> Download {
        listen(.anywhere(body))
    }

    private func listen(_ callback: CallbackLine.Callback) -> Download {
        if let callbacks {
            callbacks.add(callback)
            return self
        }
        var download = self
        let line = CallbackLine(hub)
        line.add(callback)
        hub.attach(line)
        download.callbacks = line
        return download
    }
}

extension [Download] {
    /// Calls back on the main actor once, when every download of the array has ended, with all results in the order of
    /// the array. Until then the call holds the handles, and thereby their downloader.
    @discardableResult
    public func onCompletion(
        _ body: @escaping @MainActor ([Result<CompletedDownload, DownloadError>]) -> Void
    ) -> [Download] {
        guard !isEmpty else {
            Task { @MainActor in body([]) }
            return self
        }
        let results = GatheredResults(count, body)
        return enumerated().map { place, download in download.onCompletion { results.set($0, at: place) } }
    }
}

/// Results of several downloads, until the last of them has ended.
@MainActor private final class GatheredResults {
    private var results: [Result<CompletedDownload, DownloadError>?]
    private let body: @MainActor ([Result<CompletedDownload, DownloadError>]) -> Void

    nonisolated init(_ count: Int, _ body: @escaping @MainActor ([Result<CompletedDownload, DownloadError>]) -> Void) {
        results = Array(repeating: nil, count: count)
        self.body = body
    }

    /// Keeps the first result of a download. A later run of the same download changes nothing.
    func set(_ result: Result<CompletedDownload, DownloadError>, at place: Int) {
        guard results[place] == nil else { return }
        results[place] = result
        let all = results.compactMap(\.self)
        if all.count == results.count { body(all) }
    }
}

extension DownloadEvent {
    /// The snapshot of a change of state or progress; `nil` for other events.
    fileprivate var snapshot: DownloadSnapshot? {
        switch self {
        case .changed(let snapshot), .progressed(let snapshot): snapshot
        case .ended: nil
        }
    }
}

extension DownloadOutcome {
    /// The outcome as a `Result`; a cancelled run becomes an error with the code ``DownloadError/Code/cancelled``.
    package var result: Result<CompletedDownload, DownloadError> {
        switch self {
        case .completed(let completed): .success(completed)
        case .failed(let error): .failure(error)
        case .cancelled: .failure(DownloadError(.cancelled, "The download was cancelled."))
        }
    }
}
