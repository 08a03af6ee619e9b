internal import AsyncHTTPClient
internal import Foundation
internal import NIOCore
internal import NIOHTTP1
internal import Synchronization

/// One GET with its redirects.
final class HTTPExchange: Exchange {
    private let request: TransportRequest
    private let options: HTTPTransport.Options
    private let receiver: any ResponseReceiver
    private struct State {
        var isCancelled = false
        var task: HTTPClient.Task<ResponseDelegate.Outcome>?
    }
    private let state = Mutex(State())

    init(_ request: TransportRequest, _ options: HTTPTransport.Options, _ receiver: any ResponseReceiver) {
        self.request = request
        self.options = options
        self.receiver = receiver
    }

    func cancel() {
        let task = state.withLock { state in
            state.isCancelled = true
            return state.task
        }
        task?.cancel()
    }

    /// Asks, and follows where that leads; the receiver's `ended` is the last word. Everything after this call happens on the
    /// event loop of the connection: no task has to be woken for it.
    func start(client: @escaping @Sendable (HTTPTransport.Way) -> HTTPClient) {
        guard request.url.isAskable else { return receiver.ended(TransportError(.invalidURL)) }
        ask(
            RedirectPolicy(request.url, target: request.target, allowsInsecure: request.allowsInsecureRedirects),
            client
        )
    }

    /// - Parameters:
    ///   - sources: the addresses to connect from that are left to try; nil to find them out.
    ///   - repeats: how often the question was asked in vain over connections that had been kept.
    private func ask(
        _ redirects: RedirectPolicy,
        _ client: @escaping @Sendable (HTTPTransport.Way) -> HTTPClient,
        from sources: ArraySlice<String>? = nil,
        repeats: Int = 0
    ) {
        guard let address = HTTPURL(redirects.url.withoutUserInfo(), target: redirects.target) else {
            return receiver.ended(TransportError(.invalidURL))
        }
        let url = address.url
        let route = Route(to: url, options.proxies)
        var headers = headers(redirects)
        route.add(to: &headers, for: address)
        let call: HTTPClient.Request
        let left: ArraySlice<String>
        do {
            left = try sources ?? options.binding?.sources()[...] ?? []
            call = try HTTPClient.Request(url: route.address(of: url), method: .GET, headers: headers, body: nil)
        } catch { return receiver.ended(TransportError(error)) }
        let delegate = ResponseDelegate(url: redirects.url, requested: request.url, receiver: receiver)
        let task = client(.init(route: route, source: left.first)).execute(request: call, delegate: delegate)
        let isCancelled = state.withLock { state in
            state.task = task
            return state.isCancelled
        }
        if isCancelled { task.cancel() }
        delegate.watch(task, stallTimeout: TimeAmount(options.stallTimeout))
        task.futureResult.whenComplete { [self] result in
            switch result.flatMapError({ error in delegate.outcome(after: error).map { .success($0) } ?? .failure(error)
            })
            {
            case .success(.delivered): receiver.ended(nil)
            case .success(.redirected(let location)): follow(location, redirects, client)
            case .failure(let error):
                // Each one costs a kept connection, of which there are as many as connections were open at once.
                if repeats < Self.mostRepeats, Self.isOfKeptConnection(error) {
                    return ask(redirects, client, from: left, repeats: repeats + 1)
                }
                if left.count > 1, TransportError.isOfOtherVersion(error) {
                    return ask(redirects, client, from: left.dropFirst())
                }
                receiver.ended(TransportError(error, from: left.first))
            }
        }
    }

    private static let mostRepeats = 16

    /// Whether the server had closed a connection that it had kept, before it could know of this question.
    private static func isOfKeptConnection(_ error: any Error) -> Bool {
        if case ChannelError.ioOnClosedChannel = error { return true }
        return error is KeptConnectionClosed
    }

    private func follow(
        _ location: String,
        _ before: RedirectPolicy,
        _ client: @escaping @Sendable (HTTPTransport.Way) -> HTTPClient
    ) {
        var redirects = before
        do throws(TransportError) {
            try redirects.follow(location: location)
            ask(redirects, client)
        } catch { receiver.ended(error) }
    }

    private func headers(_ redirects: RedirectPolicy) -> HTTPHeaders {
        var headers = HTTPHeaders()
        if redirects.carriesUserHeaders {
            for field in request.headers where !Self.ours.contains(field.name.lowercased()) {
                headers.add(name: field.name, value: field.value)
            }
            if !headers.contains(name: "Authorization"), let credentials {
                headers.add(name: "Authorization", value: "Basic " + Data(credentials).base64EncodedString())
            }
        }
        if !headers.contains(name: "User-Agent") { headers.add(name: "User-Agent", value: options.userAgent) }
        if !headers.contains(name: "Accept") { headers.add(name: "Accept", value: "*/*") }
        // Ranges count bytes after content coding: only uncoded ones can be resumed and verified.
        headers.add(name: "Accept-Encoding", value: "identity")
        if request.firstByte > 0 || request.end != nil {
            headers.add(name: "Range", value: "bytes=\(request.firstByte)-\(request.end.map { "\($0 - 1)" } ?? "")")
            if let (name, value) = request.condition.field { headers.add(name: name, value: value) }
        }
        return headers
    }

    /// From the URL first, then from `.netrc`; both are for the first origin only.
    private var credentials: [UInt8]? {
        if let credentials = request.url.credentials { return credentials }
        return options.netrc?.credentials(host: request.url.host ?? "", isNamed: request.isChosenByOthers).map {
            Array($0.utf8)
        }
    }

    /// Fields that a user cannot set, since the engine's promises hang on them.
    private static let ours: Set = [
        "accept-encoding", "proxy-authorization", "range", "if-range", "if-match", "if-unmodified-since",
        "content-length",
        "transfer-encoding", "connection", "te", "upgrade", RequestTargetHandler.field,
    ]
}
