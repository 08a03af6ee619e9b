internal import AsyncHTTPClient
internal import Foundation
internal import NIOCore
internal import NIOHTTP1
internal import Synchronization

/// Requests that tell rather than ask.
extension HTTPTransport: WebhookPoster {
    func post(_ body: [UInt8], to url: URL, _ fields: [HeaderField], within limit: Duration, now: Date) async
        -> WebhookAnswer
    {
        guard let address = HTTPURL(url.withoutUserInfo()) else { return .failed(TransportError(.invalidURL)) }
        var headers = HTTPHeaders(fields.map { ($0.name, $0.value) })
        headers.replaceOrAdd(name: "User-Agent", value: options.userAgent)
        if let credentials = url.credentials {
            headers.add(name: "Authorization", value: "Basic " + Data(credentials).base64EncodedString())
        }
        let route = Route(to: address.url, options.proxies)
        route.add(to: &headers, for: address)
        let receipt = Receipt()
        do {
            let request = try HTTPClient.Request(
                url: route.address(of: address.url),
                method: .POST,
                headers: headers,
                body: .bytes(body)
            )
            let task = client(for: Way(route: route)).execute(
                request: request,
                delegate: receipt,
                deadline: .now() + TimeAmount(limit)
            )
            try await withTaskCancellationHandler {
                try await task.futureResult.get()
            } onCancel: {
                task.cancel()
            }
        } catch {
            // The head of the answer says all there is to know, whatever becomes of its body.
            guard receipt.head.withLock({ $0 == nil }) else { return receipt.answer(now: now) }
            return .failed(TransportError(error))
        }
        return receipt.answer(now: now)
    }

    /// The head of an answer. Of the body only as much is read as keeps the connection.
    private final class Receipt: HTTPClientResponseDelegate {
        typealias Response = Void

        let head = Mutex<HTTPResponseHead?>(nil)
        private let bodyBytes = Mutex(0)
        private static let mostBodyBytes = 64 << 10
        private struct EnoughOfBody: Error {}

        func answer(now: Date) -> WebhookAnswer {
            guard let head = head.withLock(\.self) else { return .failed(TransportError(.connectionLost)) }
            return .answered(
                status: Int(head.status.code),
                retryAfter: head.headers.retryAfter(now: now)
            )
        }

        func didReceiveHead(task: HTTPClient.Task<Void>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
            self.head.withLock { $0 = head }
            return task.eventLoop.makeSucceededVoidFuture()
        }

        func didReceiveBodyPart(task: HTTPClient.Task<Void>, _ buffer: ByteBuffer) -> EventLoopFuture<Void> {
            let count = bodyBytes.withLock { bytes in
                bytes += buffer.readableBytes
                return bytes
            }
            return count > Self.mostBodyBytes
                ? task.eventLoop.makeFailedFuture(EnoughOfBody()) : task.eventLoop.makeSucceededVoidFuture()
        }

        func didFinishRequest(task: HTTPClient.Task<Void>) throws {}
    }
}
