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

    /// Runs to the end; the receiver's `ended` is its last word.
    func run(client: (Route) -> HTTPClient) async {
        do throws(TransportError) {
            try await follow(client: client)
            receiver.ended(nil)
        } catch {
            receiver.ended(error)
        }
    }

    private func follow(client: (Route) -> HTTPClient) async throws(TransportError) {
        guard request.url.isAskable else { throw TransportError(.invalidURL) }
        var redirects = RedirectPolicy(request.url, allowsInsecure: request.allowsInsecureRedirects)
        while true {
            let outcome = try await ask(redirects, client: client)
            guard case .redirected(let location) = outcome else { return }
            try redirects.follow(location: location)
        }
    }

    private func ask(_ redirects: RedirectPolicy, client: (Route) -> HTTPClient) async throws(TransportError)
        -> ResponseDelegate.Outcome
    {
        do {
            let url = redirects.url.withoutUserInfo()
            let route = Route(to: url, options.proxies)
            var headers = headers(redirects)
            route.add(to: &headers, for: url)
            let call = try HTTPClient.Request(url: route.address(of: url), method: .GET, headers: headers, body: nil)
            let delegate = ResponseDelegate(url: redirects.url, requested: request.url, receiver: receiver)
            let task = client(route).execute(request: call, delegate: delegate)
            let isCancelled = state.withLock { state in
                state.task = task
                return state.isCancelled
            }
            if isCancelled { task.cancel() }
            delegate.watch(task, stallTimeout: TimeAmount(options.stallTimeout))
            do {
                return try await task.get()
            } catch {
                guard let outcome = delegate.outcome(after: error) else { throw error }
                return outcome
            }
        } catch {
            throw TransportError(error)
        }
    }

    private func headers(_ redirects: RedirectPolicy) -> HTTPHeaders {
        var headers = HTTPHeaders()
        if redirects.carriesUserHeaders {
            for field in request.headers where !Self.ours.contains(field.name.lowercased()) {
                headers.add(name: field.name, value: field.value)
            }
            if !headers.contains(name: "Authorization"), let credentials {
                headers.add(name: "Authorization", value: "Basic " + Data(credentials.utf8).base64EncodedString())
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
    private var credentials: String? {
        if let user = request.url.user(percentEncoded: false) {
            return "\(user):\(request.url.password(percentEncoded: false) ?? "")"
        }
        return options.netrc?.credentials(host: request.url.host ?? "")
    }

    /// Fields that a user cannot set, since the engine's promises hang on them.
    private static let ours: Set = [
        "accept-encoding", "proxy-authorization", "range", "if-range", "if-match", "if-unmodified-since",
        "content-length",
        "transfer-encoding", "connection", "te", "upgrade",
    ]
}
