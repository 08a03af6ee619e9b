/// Closures in place of sequences. Each call returns the handle for the next call of a chain and may be made at any
/// time: the present state is reported at once.
///
/// ```swift
/// download
///     .onProgress { print($0.fraction ?? 0) }
///     .onSuccess { print($0.path) }
///     .onFailure { print($0.message) }
/// ```
///
/// The closures of one chain run one after another, in the order of the events: each event is delivered to all of them
/// before the next event. The end of the run is delivered once, last, to each closure that listens for it. Closures run
/// on the main actor unless `.anywhere` is requested. Two chains do not wait for each other.
///
/// A chain belongs to one run: call again for a download that is resumed after it failed. When the downloader shuts
/// down or is released, the runs that have not ended end with ``DownloadError/Code/shutDown``.
extension Download {
    /// Where closures run.
    public enum CallbackPlace: Sendable, Hashable {
        /// On the main actor.
        case mainActor
        /// On Swift's global executor.
        case anywhere
    }

    /// Calls a closure with the present state, and then at each change of state and each report of progress.
    @discardableResult
    public func onProgress(
        on place: CallbackPlace = .mainActor,
        _ body: @escaping @Sendable (DownloadSnapshot) -> Void
    ) -> Download {
        listen(on: place) { event in
            switch event {
            case .changed(let snapshot), .progressed(let snapshot): body(snapshot)
            case .ended: break
            }
        }
    }

    /// Calls a closure once, when the file is complete. Not called when the run ends without a file.
    @discardableResult
    public func onSuccess(
        on place: CallbackPlace = .mainActor,
        _ body: @escaping @Sendable (CompletedDownload) -> Void
    ) -> Download {
        onCompletion(on: place) { if case .success(let completed) = $0 { body(completed) } }
    }

    /// Calls a closure once, when the run ends without a file; a cancelled run has the code
    /// ``DownloadError/Code/cancelled``. A pause does not end a run.
    @discardableResult
    public func onFailure(
        on place: CallbackPlace = .mainActor,
        _ body: @escaping @Sendable (DownloadError) -> Void
    ) -> Download {
        onCompletion(on: place) { if case .failure(let error) = $0 { body(error) } }
    }

    /// Calls a closure once, when the run has ended, with its file or its error.
    @discardableResult
    public func onCompletion(
        on place: CallbackPlace = .mainActor,
        _ body: @escaping @Sendable (Result<CompletedDownload, DownloadError>) -> Void
    ) -> Download {
        listen(on: place) { event in
            guard case .ended(let outcome) = event else { return }
            body(outcome.result)
        }
    }

    private func listen(on place: CallbackPlace, _ body: @escaping @Sendable (DownloadEvent) -> Void) -> Download {
        var download = self
        if let callbacks, !callbacks.isOver {
            callbacks.add(.init(place: place, body: body))
        } else {
            let line = CallbackLine(hub)
            line.add(.init(place: place, body: body))
            hub.attach(line)
            download.callbacks = line
        }
        return download
    }
}

extension [Download] {
    /// Calls a closure once, when every download has ended, with the results in the order of the array.
    @discardableResult
    public func onCompletion(
        on place: Download.CallbackPlace = .mainActor,
        _ body: @escaping @Sendable ([Result<CompletedDownload, DownloadError>]) -> Void
    ) -> [Download] {
        Task {
            var results: [Result<CompletedDownload, DownloadError>] = []
            for download in self {
                do throws(DownloadError) {
                    results.append(.success(try await download.result()))
                } catch { results.append(.failure(error)) }
            }
            let all = results
            switch place {
            case .mainActor: await MainActor.run { body(all) }
            case .anywhere: body(all)
            }
        }
        return self
    }
}

extension DownloadOutcome {
    /// The outcome as a `Result`; a cancelled run becomes an error with the code ``DownloadError/Code/cancelled``.
    public var result: Result<CompletedDownload, DownloadError> {
        switch self {
        case .completed(let completed): .success(completed)
        case .failed(let error): .failure(error)
        case .cancelled: .failure(DownloadError(.cancelled, "The download was cancelled."))
        }
    }
}
