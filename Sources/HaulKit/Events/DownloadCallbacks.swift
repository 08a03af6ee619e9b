/// For those who prefer closures to sequences. Each call returns the handle for the next one of a chain, and may come at any
/// time: what has happened already is told at once.
///
/// ```swift
/// download
///     .onProgress { print($0.fraction ?? 0) }
///     .onSuccess { print($0.path) }
///     .onFailure { print($0.message) }
/// ```
///
/// The closures of one chain run one after another, in the order of what happened: each event is told to all of them before the
/// next one, and after the end of the run nothing is told but the end, to each that asked for it exactly once. They run on the
/// main actor unless `.anywhere` is asked for. Of two chains neither waits for the other.
///
/// A chain is of one run: a download that is resumed after it failed is listened to anew. When the downloader shuts down, or is
/// let go of, the runs that have not ended end with ``DownloadError/Code/shutDown``.
extension Download {
    /// Where closures run.
    public enum CallbackPlace: Sendable, Hashable {
        case mainActor
        /// On the pool of Swift's tasks.
        case anywhere
    }

    /// Calls back with the present state, and then whenever state or progress change.
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

    /// Calls back once, when the file is there.
    @discardableResult
    public func onSuccess(
        on place: CallbackPlace = .mainActor,
        _ body: @escaping @Sendable (CompletedDownload) -> Void
    ) -> Download {
        onCompletion(on: place) { if case .success(let completed) = $0 { body(completed) } }
    }

    /// Calls back once, when the run ends without a file; a cancelled one has the code ``DownloadError/Code/cancelled``. A pause
    /// is no end.
    @discardableResult
    public func onFailure(
        on place: CallbackPlace = .mainActor,
        _ body: @escaping @Sendable (DownloadError) -> Void
    ) -> Download {
        onCompletion(on: place) { if case .failure(let error) = $0 { body(error) } }
    }

    /// Calls back once, when the run has ended one way or the other.
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
    /// Calls back once, when every one of them has ended, with how, in their order.
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
    /// The outcome as Swift's own type for it.
    public var result: Result<CompletedDownload, DownloadError> {
        switch self {
        case .completed(let completed): .success(completed)
        case .failed(let error): .failure(error)
        case .cancelled: .failure(DownloadError(.cancelled, "The download was cancelled."))
        }
    }
}
