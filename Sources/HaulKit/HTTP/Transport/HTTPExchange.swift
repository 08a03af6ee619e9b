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
        let redirects = RedirectPolicy(
            request.url,
            target: request.target,
            allowsInsecure: request.allowsInsecureRedirects
        )
        ask(Step(redirects: redirects), client)
    }

    /// One question on the way to the answer.
    private struct Step {
        var redirects: RedirectPolicy
        /// The addresses to connect from that are left to try; nil to find them out.
        var sources: ArraySlice<String>?
        /// How often it was asked in vain over connections that had been kept.
        var repeats = 0
        /// How often it was asked again since the server wants to be told in another way who asks.
        var challenges = 0
    }

    private func ask(_ step: Step, _ client: @escaping @Sendable (HTTPTransport.Way) -> HTTPClient) {
        var step = step
        guard let address = HTTPURL(step.redirects.url.withoutUserInfo(), target: step.redirects.target) else {
            return receiver.ended(TransportError(.invalidURL))
        }
        let url = address.url
        let route = Route(to: url, options.proxies)
        var headers = headers(step.redirects)
        let key = key(for: step.redirects, headers)
        let authorization = key.flatMap { options.authenticator.authorization($0, target: address.target) }
        let credentials: CredentialSource? =
            headers.contains(name: "Authorization")
            ? .header : authorization.map { _ in request.url.credentials == nil ? .netrc : .url }
        if let authorization { headers.add(name: "Authorization", value: authorization.field) }
        route.add(to: &headers, for: address)
        let call: HTTPClient.Request
        let left: ArraySlice<String>
        do {
            left = try step.sources ?? options.binding?.sources()[...] ?? []
            call = try HTTPClient.Request(url: route.address(of: url), method: .GET, headers: headers, body: nil)
        } catch { return receiver.ended(TransportError(error)) }
        step.sources = left
        let isFirst = step.challenges == 0
        let mayAskAgain = step.challenges < Self.mostChallenges
        let delegate = ResponseDelegate(
            url: step.redirects.url,
            requested: request.url,
            credentials: credentials,
            receiver: receiver
        ) { [request, options] head in
            if head.status == .proxyAuthenticationRequired, case .forward(let proxy) = route {
                return .refused(.isNotLetIn(by: proxy))
            }
            request.cookies?.store(head.headers["Set-Cookie"], from: url)
            if let key {
                if head.status == .unauthorized {
                    let challenges = AuthenticationChallenge.read(head.headers["WWW-Authenticate"])
                    let isNew = options.authenticator.learn(
                        challenges,
                        key,
                        sent: authorization?.nonce,
                        isFirst: isFirst
                    )
                    if isNew, mayAskAgain { return .challenged }
                } else if authorization?.nonce != nil {
                    options.authenticator.renew(head.headers["Authentication-Info"], key)
                }
            }
            guard RedirectPolicy.isRedirect(status: Int(head.status.code)) else { return nil }
            return head.headers.first(name: "Location").map { .redirected(location: $0) }
        }
        let way = HTTPTransport.Way(route: route, source: left.first)
        let task = client(way).execute(request: call, delegate: delegate)
        let isCancelled = state.withLock { state in
            state.task = task
            return state.isCancelled
        }
        if isCancelled { task.cancel() }
        delegate.watch(task, stallTimeout: TimeAmount(options.stallTimeout))
        task.futureResult.whenComplete { [self, step] result in
            var next = step
            switch result.flatMapError({ error in delegate.outcome(after: error).map { .success($0) } ?? .failure(error)
            })
            {
            case .success(.delivered): receiver.ended(nil)
            case .success(.redirected(let location)): follow(location, step.redirects, client)
            case .success(.refused(let error)): receiver.ended(error)
            case .success(.challenged):
                next.challenges += 1
                ask(next, client)
            case .failure(let error):
                // Each one costs a kept connection, of which there are as many as connections were open at once.
                if step.repeats < Self.mostRepeats(after: error) {
                    next.repeats += 1
                    return ask(next, client)
                }
                if left.count > 1, TransportError.isOfOtherVersion(error) {
                    next.sources = left.dropFirst()
                    return ask(next, client)
                }
                let isRedirected = step.redirects.url != request.url
                receiver.ended(
                    TransportError(error, over: way, isConnected: delegate.hasSent).at(isRedirected ? url.host : nil)
                )
            }
        }
    }

    private static let mostChallenges = 3

    /// How often a question is repeated that a server did not hear, since it had closed the connection before.
    private static func mostRepeats(after error: any Error) -> Int {
        if error is KeptConnectionClosed { return 16 }
        // Gone before the question was written: a new connection as well as a kept one may be.
        if case ChannelError.ioOnClosedChannel = error { return 1 }
        return 0
    }

    private func follow(
        _ location: String,
        _ before: RedirectPolicy,
        _ client: @escaping @Sendable (HTTPTransport.Way) -> HTTPClient
    ) {
        var redirects = before
        do throws(TransportError) {
            try redirects.follow(location: location)
            ask(Step(redirects: redirects), client)
        } catch { receiver.ended(error) }
    }

    private func headers(_ redirects: RedirectPolicy) -> HTTPHeaders {
        var headers = HTTPHeaders()
        if redirects.carriesUserHeaders {
            for field in request.headers where !Self.ours.contains(field.name.lowercased()) {
                headers.add(name: field.name, value: field.value)
            }
        }
        if let cookies = request.cookies?.field(for: redirects.url, own: headers["Cookie"]) {
            headers.replaceOrAdd(name: "Cookie", value: cookies)
        }
        if !headers.contains(name: "User-Agent") { headers.add(name: "User-Agent", value: options.userAgent) }
        if !headers.contains(name: "Accept") { headers.add(name: "Accept", value: "*/*") }
        // Ranges count bytes after content coding: only uncoded ones can be resumed and verified.
        headers.add(name: "Accept-Encoding", value: "identity")
        if request.isForRange {
            headers.add(name: "Range", value: "bytes=\(request.firstByte)-\(request.end.map { "\($0 - 1)" } ?? "")")
            if let (name, value) = request.condition.field { headers.add(name: name, value: value) }
        }
        return headers
    }

    /// Who asks, and whom: from the URL first, then from `.netrc`; both are for the first origin only.
    private func key(for redirects: RedirectPolicy, _ headers: HTTPHeaders) -> Authenticator.Key? {
        guard redirects.carriesUserHeaders, !headers.contains(name: "Authorization") else { return nil }
        let credentials =
            request.url.credentials.map { Credentials($0) }
            ?? options.netrc?.credentials(host: request.url.host ?? "", isNamed: request.isChosenByOthers)
            .map { Credentials($0) }
        return credentials.map { .init(origin: Origin(redirects.url), credentials: $0) }
    }

    /// Fields that a user cannot set, since the engine's promises hang on them.
    private static let ours: Set = [
        "accept-encoding", "proxy-authorization", "range", "if-range", "if-match", "if-unmodified-since",
        "content-length",
        "transfer-encoding", "connection", "te", "upgrade", RequestTargetHandler.field,
    ]
}
