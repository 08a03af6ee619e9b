internal import Foundation
internal import NIOCore
internal import Synchronization

/// What a server says of a file, without a download.
extension Downloader {
    /// Asks a server for name, length, type and version of a file, and whether it serves ranges. Nothing is downloaded or
    /// stored.
    ///
    /// Sends one GET request for the first byte (`Range: bytes=0-0`) and closes the connection when the head of the
    /// response has arrived; there is no further attempt after a failure. Header fields, credentials, cookies, proxies and
    /// redirects are those of a download of the same request, and the limits of connections apply: the call waits for
    /// room. A link that works once is used up. The destination and the mirrors of the request are not used, nor is
    /// ``Downloader/Configuration/Sources/provider``.
    ///
    /// - Throws: ``DownloadError`` as a download fails by the network or the server's refusal;
    ///   ``DownloadError/Code/invalidURL``, also for a request without a URL, or
    ///   ``DownloadError/Code/unsupportedScheme``; ``DownloadError/Code/waitCancelled`` when the task is cancelled;
    ///   ``DownloadError/Code/shutDown``.
    public func probe(_ request: DownloadRequest) async throws(DownloadError) -> ResourceDescription {
        try checkIsOpen()
        guard !request.needsSource else { throw .noURL }
        let request = try Self.checked(request)
        let host = Origin(request.url)
        try await reserve(host)
        let receiver = HeadReceiver()
        let call = TransportRequest(
            url: request.url,
            target: request.target,
            headers: request.headers,
            firstByte: 0,
            end: 1,
            allowsInsecureRedirects: request.allowsInsecureRedirects,
            isChosenByOthers: request.isChosenByDocument,
            cookies: CookieJar(cookieCollection)
        )
        let answer = await receiver.answer(to: call, over: transport)
        engine.broker.gone(host)
        if case .success(let head) = answer { return try ResourceDescription(head, to: request) }
        try checkIsOpen()
        if Task.isCancelled { throw Self.isProbeCancelled }
        guard case .failure(let failure) = answer else { throw Self.isProbeCancelled }
        throw RetryClassifier.decision(on: failure, host: request.url.host ?? "").error
    }

    /// The same for anything that gives a URL: a text, a `URL`, a type of the application.
    ///
    /// - Throws: as ``probe(_:)-(DownloadRequest)``.
    public func probe(_ source: some URLConvertible) async throws(DownloadError) -> ResourceDescription {
        try await probe(try DownloadRequest(source, to: .folder(path: ".")))
    }

    /// Returns when the host has room for the caller's connection. Downloads that wait come first.
    private func reserve(_ host: Origin) async throws(DownloadError) {
        while !pool.reserve(host) {
            if Task.isCancelled { throw Self.isProbeCancelled }
            let number = pool.newReleaseWaiter()
            await withTaskCancellationHandler {
                await withCheckedContinuation { pool.waitForRelease(number, $0) }
            } onCancel: {
                Task { await self.stopWaitingForRelease(number) }
            }
            try checkIsOpen()
        }
    }

    private func stopWaitingForRelease(_ number: Int) { pool.stopWaitingForRelease(number) }

    static let isProbeCancelled = DownloadError(.waitCancelled, "The wait for the answer was cancelled.")
}

/// Takes in the head of one answer, and nothing of its body.
private final class HeadReceiver: ResponseReceiver {
    private struct State {
        var head: ResponseHead?
        var exchange: (any Exchange)?
        var isCancelled = false
        var continuation: CheckedContinuation<Result<ResponseHead, TransportError>, Never>?
    }
    private struct EnoughRead: Error {}
    private let state = Mutex(State())

    /// Returns when the exchange has ended.
    func answer(to request: TransportRequest, over transport: any Transport) async
        -> Result<ResponseHead, TransportError>
    {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                state.withLock { $0.continuation = continuation }
                let exchange = transport.start(request, receiver: self)
                let isCancelled = state.withLock { state in
                    // One that has ended already is let go of.
                    if state.continuation != nil { state.exchange = exchange }
                    return state.isCancelled
                }
                if isCancelled { exchange.cancel() }
            }
        } onCancel: {
            let exchange = state.withLock { state in
                state.isCancelled = true
                return state.exchange
            }
            exchange?.cancel()
        }
    }

    func headReceived(_ head: ResponseHead, on eventLoop: any EventLoop) -> EventLoopFuture<Void> {
        state.withLock { $0.head = head }
        return eventLoop.makeFailedFuture(EnoughRead())
    }

    func bodyReceived(_ bytes: ByteBuffer, on eventLoop: any EventLoop) -> EventLoopFuture<Void>? {
        eventLoop.makeFailedFuture(EnoughRead())
    }

    func ended(_ failure: TransportError?) {
        let (continuation, head) = state.withLock { state in
            defer { (state.continuation, state.exchange) = (nil, nil) }
            return (state.continuation, state.head)
        }
        let missing = failure ?? TransportError(.malformedResponse, "no answer")
        continuation?.resume(returning: head.map { .success($0) } ?? .failure(missing))
    }
}
