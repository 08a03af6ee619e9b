internal import Foundation
internal import NIOCore
internal import NIOHTTP1
internal import Synchronization

/// Metalinks that stand at a URL, fetched into memory: nothing of them is stored, neither on the disk nor as a download.
extension Downloader {
    /// Fetches and reads a Metalink. Header fields, user info and `.netrc` go where they would for a download of the URL, and a
    /// failed attempt is repeated as for one.
    ///
    /// - Throws: ``DownloadError`` as a download fails, and with code ``DownloadError/Code/invalidMetalink``. A document is read no
    ///   further than 16 MiB, whatever its server says of its length.
    package func metalink(_ request: DownloadRequest) async throws(DownloadError) -> Metalink {
        let request = try Self.checked(request)
        let host = request.url.host ?? ""
        var failures = 0
        var hasAnswered = false
        while true {
            guard !isShuttingDown else { throw .isShutDown }
            let decision: RetryClassifier.Decision
            var retryAfter: Duration?
            switch await documentAnswer(request) {
            case .whole(let bytes): return try Metalink(bytes)
            case .tooLarge: throw .metalinkTooLarge
            case .refused(let head):
                hasAnswered = true
                retryAfter = head.headers.retryAfter(now: time.date())
                decision = RetryClassifier.decision(
                    on: .status(head.status),
                    host: host,
                    isRedirected: head.isRedirected
                )
            case .coded:
                throw .invalidMetalink("it came compressed, although that was not asked for")
            case .failed(let error): decision = RetryClassifier.decision(on: error, host: host)
            }
            guard !isShuttingDown else { throw .isShutDown }
            failures += 1
            let retry = configuration.retry
            let most = hasAnswered ? retry.attempts : min(retry.attempts, retry.attemptsBeforeFirstAnswer)
            guard decision.isWorthRetrying, failures <= most else { throw decision.error }
            await rest(retry.delay(failures: failures, chance: catalog.factory.nextSeed(), retryAfter: retryAfter))
        }
    }

    /// Waits, but not beyond the shut-down.
    private func rest(_ duration: Duration) async {
        let end = time.now() + duration
        while time.now() < end, !isShuttingDown {
            // Ends early only by cancellation, and then the next attempt is made at once.
            do { try await time.sleep(min(end - time.now(), .milliseconds(200))) } catch { return }
        }
    }

    private func documentAnswer(_ request: DownloadRequest) async -> DocumentReceiver.Answer {
        let receiver = DocumentReceiver(limit: Metalink.maximumBytes)
        let call = TransportRequest(
            url: request.url,
            target: request.target,
            headers: request.headers,
            allowsInsecureRedirects: request.allowsInsecureRedirects
        )
        return await receiver.answer(to: call, over: transport)
    }
}

/// Takes in one small answer.
private final class DocumentReceiver: ResponseReceiver {
    enum Answer: Sendable {
        case whole([UInt8])
        case tooLarge
        /// A content coding that nobody asked for.
        case coded
        case refused(ResponseHead)
        case failed(TransportError)
    }
    private struct State {
        var bytes: [UInt8] = []
        /// Decided before the exchange has ended.
        var answer: Answer?
        var continuation: CheckedContinuation<Answer, Never>?
    }
    private struct EnoughRead: Error {}

    private let state = Mutex(State())
    private let limit: Int

    init(limit: Int) { self.limit = limit }

    func answer(to request: TransportRequest, over transport: any Transport) async -> Answer {
        await withCheckedContinuation { continuation in
            state.withLock { $0.continuation = continuation }
            _ = transport.start(request, receiver: self)
        }
    }

    func headReceived(_ head: ResponseHead, on eventLoop: any EventLoop) -> EventLoopFuture<Void> {
        let answer: Answer? =
            if head.status != 200, head.status != 203 {
                .refused(head)
            } else if head.contentCoding != nil {
                .coded
            } else if head.contentLength ?? 0 > limit {
                .tooLarge
            } else { nil }
        state.withLock { $0.answer = answer }
        return answer == nil ? eventLoop.makeSucceededVoidFuture() : eventLoop.makeFailedFuture(EnoughRead())
    }

    func bodyReceived(_ bytes: ByteBuffer, on eventLoop: any EventLoop) -> EventLoopFuture<Void>? {
        let isTooLarge = state.withLock { state in
            guard state.bytes.count + bytes.readableBytes <= limit else {
                state.bytes = []
                state.answer = .tooLarge
                return true
            }
            state.bytes += bytes.readableBytesView
            return false
        }
        return isTooLarge ? eventLoop.makeFailedFuture(EnoughRead()) : nil
    }

    func ended(_ failure: TransportError?) {
        let (continuation, answer) = state.withLock { state in
            defer { state.continuation = nil }
            return (state.continuation, state.answer ?? failure.map { .failed($0) } ?? .whole(state.bytes))
        }
        continuation?.resume(returning: answer)
    }
}
