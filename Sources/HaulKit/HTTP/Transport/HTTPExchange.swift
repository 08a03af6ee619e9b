internal import AsyncHTTPClient
internal import Foundation
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import Synchronization

/// Performs one request and follows its redirects.
final class HTTPExchange: Exchange {
    private let request: TransportRequest
    private let options: HTTPTransport.Options
    private let receiver: any ResponseReceiver
    private struct State {
        var isCancelled = false
        var task: HTTPClient.Task<ResponseDelegate.Outcome>?
        var lookup: NameResolver.WaiterID?
        var admission: (any AdmissionWait)?
    }
    private let state = Mutex(State())

    init(_ request: TransportRequest, _ options: HTTPTransport.Options, _ receiver: any ResponseReceiver) {
        self.request = request
        self.options = options
        self.receiver = receiver
    }

    func cancel() {
        let (task, lookup, admission) = state.withLock { state in
            state.isCancelled = true
            return (state.task, state.lookup, state.admission)
        }
        admission?.cancel()
        if let lookup { options.names.cancel(lookup) }
        task?.cancel()
    }

    /// Sends the request and follows redirects. The receiver's `ended` is the last call. After this call returns,
    /// everything happens on the event loop of the connection, so that no task has to be woken.
    func start(_ clients: HTTPClients) {
        guard request.url.isAskable else { return receiver.ended(TransportError(.invalidURL)) }
        let redirects = RedirectPolicy(
            request.url,
            target: request.target,
            allowsInsecure: request.allowsInsecureRedirects,
            hasBody: request.method != .get
        )
        admit(Step(redirects: redirects), clients)
    }

    /// Sends the request of a step once the ``RequestAdmission`` admits it.
    private func admit(_ step: Step, _ clients: HTTPClients) {
        guard let admission = options.admission else { return ask(step, clients) }
        let wait = admission.admit(step.redirects.url) { [self] isAdmitted in
            // Receivers expect every call on an event loop.
            MultiThreadedEventLoopGroup.singleton.next().execute { [self] in
                if isAdmitted, !state.withLock(\.isCancelled) {
                    ask(step, clients)
                } else {
                    receiver.ended(TransportError(.connectionLost, "cancelled"))
                }
            }
        }
        guard let wait else { return ask(step, clients) }
        let isCancelled = state.withLock { state in
            state.admission = wait
            return state.isCancelled
        }
        if isCancelled { wait.cancel() }
    }

    /// One request on the way to the final response.
    private struct Step {
        var redirects: RedirectPolicy
        /// The ways to the server that are left to try; `nil` until they are known.
        var ways: ArraySlice<Way>?
        /// Whether the address of the first way has served a connection.
        var isProven = true
        /// Duration of the name lookup, which counts towards the time for connecting.
        var lookupTime: Duration = .zero
        /// Errors of the previous ways, over which no connection could be made.
        var failures: [TransportError] = []
        /// Whether all addresses have been tried at once. The first way then has the fastest address.
        var isRaced = false
        /// Number of repetitions of a request that the server did not receive.
        var repeats = 0
        /// Number of repetitions that answered an authentication challenge.
        var challenges = 0
    }

    private func ask(_ step: Step, _ clients: HTTPClients) {
        guard let address = HTTPURL(step.redirects.url.withoutUserInfo(), target: step.redirects.target) else {
            return receiver.ended(TransportError(.invalidURL))
        }
        if let ways = step.ways { return send(step, to: address, ways, clients) }
        let route = Route(to: address.url, options.proxies)
        let sources: [String]
        do throws(TransportError) { sources = try options.binding?.sources() ?? [] } catch {
            return receiver.ended(error)
        }
        let denied = options.deniedAddresses
        if let host = address.url.host,
            let denial = route == .direct ? denied.denial(of: host) : denied.denial(ofProxied: host)
        {
            return receiver.ended(denial.at(isElsewhere(step) ? host : nil))
        }
        let name = route.nameToResolve(for: address.url)
        let found: @Sendable (NameResolver.Answer) -> Void = { [self] answer in
            let addresses: [ResolvedAddress]
            do throws(TransportError) {
                // The user has set the proxy, so its own address is not checked.
                addresses =
                    route == .direct ? try options.deniedAddresses.allowed(answer.addresses) : answer.addresses
            } catch {
                return receiver.ended(error.at(isElsewhere(step) ? address.url.host : nil))
            }
            let ways = Way.all(route, from: sources, to: name, addresses, within: options.connectTimeout)[...]
            var step = step
            (step.ways, step.isProven, step.lookupTime) = (ways, answer.isProven, answer.took)
            send(step, to: address, ways, clients)
        }
        guard let name else { return found(.init(addresses: [], isProven: true)) }
        if let known = options.names.known(name) { return found(known) }
        // Receivers expect every call on an event loop.
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let id = options.names.resolve(name, for: request.download, within: options.connectTimeout) { [self] result in
            loop.execute { [self] in
                switch result {
                case .success(let answer): found(answer)
                case .failure(let error):
                    let error = route.proxy.map { error.of($0) } ?? error
                    receiver.ended(error.at(isElsewhere(step) ? address.url.host : nil))
                }
            }
        }
        let isCancelled = state.withLock { state in
            state.lookup = id
            return state.isCancelled
        }
        if isCancelled { options.names.cancel(id) }
    }

    /// Whether redirects led to this request.
    private func isElsewhere(_ step: Step) -> Bool { step.redirects.url != request.url }

    private func send(_ step: Step, to address: HTTPURL, _ ways: ArraySlice<Way>, _ clients: HTTPClients) {
        guard let way = ways.first else { return receiver.ended(TransportError(.nameNotResolved)) }
        let route = way.route
        let url = address.url
        var headers = headers(step.redirects)
        let key = key(for: step.redirects, headers)
        var (method, body) = (HTTPMethod.GET, HTTPClient.Body?.none)
        if step.redirects.keepsMethod, case .post(let bytes, let type) = request.method {
            (method, body) = (.POST, .bytes(bytes))
            headers.replaceOrAdd(name: "Content-Type", value: type)
        }
        let authorization = key.flatMap {
            options.authenticator.authorization($0, method: method.rawValue, target: address.target)
        }
        let credentials: CredentialSource? =
            headers.contains(name: "Authorization")
            ? .header : authorization.map { _ in request.url.credentials == nil ? .netrc : .url }
        if let authorization { headers.add(name: "Authorization", value: authorization.field) }
        route.add(to: &headers, for: address)
        if options.admission?.closesConnection(to: url) == true {
            headers.replaceOrAdd(name: "Connection", value: "close")
        }
        let call: HTTPClient.Request
        do {
            call = try HTTPClient.Request(url: route.address(of: url), method: method, headers: headers, body: body)
        } catch { return receiver.ended(TransportError(error)) }
        let isFirst = step.challenges == 0
        let mayAskAgain = step.challenges < Self.mostChallenges
        let delegate = ResponseDelegate(
            url: step.redirects.url,
            requested: request.url,
            credentials: credentials,
            receiver: receiver,
            onConnection: { [options] in
                if !step.isProven, let peer = way.peer { options.names.connected(peer.name, to: peer.address) }
            }
        ) { [request, options] head in
            if let admission = options.admission {
                let now = head.headers.first(name: "Date").flatMap { HTTPDate.parse($0, now: Date()) } ?? Date()
                admission.answered(
                    url,
                    status: Int(head.status.code),
                    retryAfter: head.headers.retryAfter(now: now)
                )
            }
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
            return head.headers.first(name: "Location").map {
                .redirected(location: $0, status: Int(head.status.code))
            }
        }
        let task = clients.take(way).execute(request: call, delegate: delegate)
        let isCancelled = state.withLock { state in
            state.task = task
            return state.isCancelled
        }
        if isCancelled { task.cancel() }
        delegate.watch(task, stallTimeout: TimeAmount(options.stallTimeout))
        watchConnecting(task, delegate, step, ways, port: route.port(for: url))
        task.futureResult.whenComplete { [self] result in
            clients.release(way, isSettled: delegate.isConnected || !Self.leavesAttempt(result))
            switch result.flatMapError({ error in delegate.outcome(after: error).map { .success($0) } ?? .failure(error)
            })
            {
            case .success(.delivered): receiver.ended(nil)
            case .success(.redirected(let location, let status)): follow(location, status, step.redirects, clients)
            case .success(.refused(let error)): receiver.ended(error)
            case .success(.challenged):
                var next = step
                next.challenges += 1
                admit(next, clients)
            case .failure(let error):
                if let next = next(after: error, delegate, step, ways) { return ask(next, clients) }
                let failure = failure(error, over: way, step, isConnected: delegate.isConnected)
                if !delegate.isConnected, failure.isOfConnecting, let peer = way.peer {
                    options.names.failed(peer.name)
                }
                receiver.ended(failure.at(isElsewhere(step) ? url.host : nil))
            }
        }
    }

    /// Returns the error of a failed request. If no way led to a connection, the errors of all ways count.
    private func failure(_ error: any Error, over way: Way, _ step: Step, isConnected: Bool) -> TransportError {
        let last = TransportError(error, over: way, isConnected: isConnected)
        guard last.isOfConnecting || TransportError.isOfOtherVersion(error) else { return last }
        return TransportError.told(of: step.failures + [last])
    }

    /// Returns the step that repeats a request which the server did not receive; `nil` if the request has failed.
    private func next(after error: any Error, _ delegate: ResponseDelegate, _ step: Step, _ ways: ArraySlice<Way>)
        -> Step?
    {
        var next = step
        if let faster = error as? FasterAddress {
            next.ways =
                ways.filter { $0.peer?.address == faster.address }
                + ways.filter { $0.peer?.address != faster.address }
            (next.isProven, next.lookupTime) = (false, .zero)
            next.isRaced = true
            return next
        }
        // Each repetition uses up a kept connection. There are as many of these as connections were open at once.
        if step.repeats < Self.mostRepeats(after: error) {
            next.repeats += 1
            return next
        }
        let failure = TransportError(error, from: ways.first?.source)
        guard !delegate.isConnected, ways.count > 1,
            failure.isOfAddress || TransportError.isOfOtherVersion(error)
        else { return nil }
        next.ways = ways.dropFirst()
        next.isProven = false
        if failure.isOfAddress { next.failures.append(failure) }
        return next
    }

    // MARK: Connecting

    /// Ends a request without a connection when the time for connecting is up, less the time of the lookup. Also ends a
    /// request to an address that is slow to accept the connection while another address accepts.
    private func watchConnecting(
        _ task: HTTPClient.Task<ResponseDelegate.Outcome>,
        _ delegate: ResponseDelegate,
        _ step: Step,
        _ ways: ArraySlice<Way>,
        port: Int
    ) {
        if step.lookupTime > .zero {
            let left = max(.zero, options.connectTimeout - step.lookupTime)
            let timer = task.eventLoop.scheduleTask(in: TimeAmount(left)) {
                if delegate.abandon() { task.fail(reason: TransportError(.connectTimeout)) }
            }
            task.futureResult.whenComplete { _ in timer.cancel() }
        }
        guard !step.isProven, !step.isRaced, let way = ways.first, let peer = way.peer else { return }
        let rivals = ways.filter { $0.source == way.source }.compactMap(\.peer?.address)
        guard rivals.count > 1 else { return }
        let limit = options.connectTimeout
        let start = task.eventLoop.scheduleTask(in: TimeAmount(AddressRace.delay)) {
            guard !delegate.isConnected else { return }
            AddressRace.winner(of: rivals, port: port, from: way.source, within: limit).whenSuccess { winner in
                guard let winner, winner != peer.address, delegate.abandon() else { return }
                task.fail(reason: FasterAddress(address: winner))
            }
        }
        task.futureResult.whenComplete { _ in start.cancel() }
    }

    /// Whether a request without a connection ended before its attempt to connect did.
    private static func leavesAttempt<Success>(_ result: Result<Success, any Error>) -> Bool {
        guard case .failure(let error) = result else { return false }
        return error is FasterAddress || (error as? HTTPClientError) == .cancelled
            || TransportError(error).kind == .connectTimeout
    }

    private struct FasterAddress: Error { let address: ResolvedAddress }

    private static let mostChallenges = 3

    /// Returns how often a request is repeated that the server did not receive because the connection was closed.
    private static func mostRepeats(after error: any Error) -> Int {
        if error is KeptConnectionClosed { return 16 }
        // The connection was closed before the request was written. That happens to new connections as well as to kept
        // ones.
        if case ChannelError.ioOnClosedChannel = error { return 1 }
        return 0
    }

    private func follow(
        _ location: String,
        _ status: Int,
        _ before: RedirectPolicy,
        _ clients: HTTPClients
    ) {
        var redirects = before
        do throws(TransportError) {
            try redirects.follow(location: location, status: status)
            admit(Step(redirects: redirects), clients)
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
        // Ranges count bytes after content coding, so only uncoded bytes can be resumed and verified.
        headers.add(name: "Accept-Encoding", value: "identity")
        if request.isForRange {
            headers.add(name: "Range", value: RangeRequest.rangeValue(from: request.firstByte, to: request.end))
            if let (name, value) = request.condition.field { headers.add(name: name, value: value) }
        }
        return headers
    }

    /// Returns the origin and its credentials, from the URL first, then from `.netrc`. Both are only for the first
    /// origin.
    private func key(for redirects: RedirectPolicy, _ headers: HTTPHeaders) -> Authenticator.Key? {
        guard redirects.carriesUserHeaders, !headers.contains(name: "Authorization") else { return nil }
        let credentials =
            request.url.credentials.map { Credentials($0) }
            ?? options.netrc?.credentials(host: request.url.host ?? "", isNamed: request.isChosenByOthers)
            .map { Credentials($0) }
        return credentials.map { .init(origin: Origin(redirects.url), credentials: $0) }
    }

    /// Fields that a user cannot set, because the engine's guarantees depend on them.
    private static let ours: Set = [
        "accept-encoding", "proxy-authorization", "range", "if-range", "if-match", "if-unmodified-since",
        "content-length",
        "transfer-encoding", "connection", "te", "upgrade", RequestTargetHandler.field,
    ]
}
