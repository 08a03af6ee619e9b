internal import AsyncHTTPClient
internal import Foundation
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import Synchronization

/// Sends the POST requests of webhooks.
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
        let deadline = NIODeadline.now() + TimeAmount(limit)
        do {
            let request = try HTTPClient.Request(
                url: route.address(of: address.url),
                method: .POST,
                headers: headers,
                body: .bytes(body)
            )
            var paths = try await paths(route, to: address.url, before: deadline)[...]
            while let path = paths.popFirst() {
                do {
                    try await send(request, by: path, to: receipt, before: deadline)
                    break
                } catch {
                    guard !receipt.isSent, !paths.isEmpty, TransportError(error).isOfAddress else { throw error }
                }
            }
        } catch {
            // The head of the answer decides, even if the body fails.
            guard receipt.head.withLock({ $0 == nil }) else { return receipt.answer(now: now) }
            return .failed(TransportError(error))
        }
        return receipt.answer(now: now)
    }

    private func send(
        _ request: HTTPClient.Request,
        by path: ConnectionPath,
        to receipt: Receipt,
        before deadline: NIODeadline
    ) async throws {
        let task = clients.take(path).execute(request: request, delegate: receipt, deadline: deadline)
        // A request that was never sent is not settled: its attempt to connect may still run after the deadline.
        defer { clients.release(path, isSettled: receipt.isSent) }
        try await withTaskCancellationHandler {
            try await task.futureResult.get()
        } onCancel: {
            task.cancel()
        }
        if let peer = path.peer { options.names.connected(peer.name, to: peer.address) }
    }

    /// Returns the paths to a host. If no address of the host has served a connection yet, the fastest address comes
    /// first.
    private func paths(_ route: Route, to url: URL, before deadline: NIODeadline) async throws -> [ConnectionPath] {
        let options = options
        let sources = try options.binding?.sources() ?? []
        let limit = options.connectTimeout
        guard let name = route.nameToResolve(for: url) else {
            return ConnectionPath.all(route, from: sources, to: nil, [], within: limit)
        }
        let answer = try await resolve(name, before: deadline)
        let paths = ConnectionPath.all(route, from: sources, to: name, answer.addresses, within: limit)
        let source = paths.first?.source
        let rivals = paths.filter { $0.source == source }.compactMap(\.peer?.address)
        guard !answer.isProven, rivals.count > 1 else { return paths }
        let left = Duration.nanoseconds(max(0, (deadline - .now()).nanoseconds))
        let race = AddressRace.winner(of: rivals, port: route.port(for: url), from: source, within: left)
        guard let winner = try await race.get() else { return paths }
        return paths.filter { $0.peer?.address == winner } + paths.filter { $0.peer?.address != winner }
    }

    private func resolve(_ name: String, before deadline: NIODeadline) async throws -> NameResolver.Answer {
        if let known = options.names.known(name) { return known }
        let left = Duration.nanoseconds(max(0, (deadline - .now()).nanoseconds))
        let promise = MultiThreadedEventLoopGroup.singleton.next().makePromise(of: NameResolver.Answer.self)
        let id = options.names.resolve(name, for: nil, within: left) { result in
            promise.completeWith(result.mapError { $0 })
        }
        return try await withTaskCancellationHandler {
            try await promise.futureResult.get()
        } onCancel: {
            options.names.cancel(id)
        }
    }

    /// Keeps the head of an answer. Reads and drops a body of up to 64 KiB, so that the connection can be used again. A
    /// longer body ends the request.
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

        private let sent = Atomic(false)
        var isSent: Bool { sent.load(ordering: .relaxed) }

        func didSendRequestHead(task: HTTPClient.Task<Void>, _ head: HTTPRequestHead) {
            sent.store(true, ordering: .relaxed)
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
