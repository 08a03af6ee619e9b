internal import AsyncHTTPClient
internal import Foundation
internal import NIOCore
internal import NIOPosix

/// Performs one request and follows its redirects.
///
/// The decisions are values of HaulCore: ``RequestFields`` writes the requests, ``AnswerJudgement`` judges the answers.
final class HTTPExchange: Exchange {
    private let request: TransportRequest
    private let fields: RequestFields
    private let options: HTTPTransport.Options
    private let receiver: any ResponseReceiver
    private let cancellation: ExchangeCancellation

    init(_ request: TransportRequest, _ options: HTTPTransport.Options, _ receiver: any ResponseReceiver) {
        self.request = request
        fields = RequestFields(request, options)
        self.options = options
        self.receiver = receiver
        cancellation = ExchangeCancellation(options.names)
    }

    func cancel() { cancellation.cancel() }

    /// Sends the request and follows redirects. The receiver's `ended` is the last call. After this call returns,
    /// everything happens on event loops, so that no task has to be woken.
    func start(_ clients: HTTPClients) {
        guard request.url.isAskable else { return receiver.ended(TransportError(.invalidURL)) }
        let redirects = RedirectPolicy(
            request.url,
            target: request.target,
            allowsInsecure: request.allowsInsecureRedirects,
            hasBody: request.method != .get
        )
        admit(ExchangeStep(redirects), clients)
    }

    /// Sends the request of a step once the ``RequestAdmission`` admits it.
    private func admit(_ step: ExchangeStep, _ clients: HTTPClients) {
        guard let admission = options.admission else { return ask(step, clients) }
        let wait = admission.admit(step.redirects.url) { [self] isAdmitted in
            // `admission` calls this closure on any thread, but the `ResponseReceiver` must be called on an event loop.
            MultiThreadedEventLoopGroup.singleton.next().execute { [self] in
                if isAdmitted, !cancellation.isCancelled {
                    ask(step, clients)
                } else {
                    receiver.ended(TransportError(.connectionLost, "cancelled"))
                }
            }
        }
        guard let wait else { return ask(step, clients) }
        cancellation.add(wait)
    }

    /// Finds the paths to the server of a step, unless they are known, and sends the request over the first one.
    private func ask(_ step: ExchangeStep, _ clients: HTTPClients) {
        guard let address = HTTPURL(step.redirects.url.withoutUserInfo(), target: step.redirects.target) else {
            return receiver.ended(TransportError(.invalidURL))
        }
        if step.paths != nil { return send(step, to: address, clients) }
        let route = Route(to: address.url, options.proxies)
        let sources: [String]
        do throws(TransportError) { sources = try options.binding?.sources() ?? [] } catch {
            return receiver.ended(error)
        }
        let denied = options.deniedAddresses(for: request)
        let elsewhere = self.elsewhere(step, address)
        if let host = address.url.host,
            let denial = route == .direct ? denied.denial(of: host) : denied.denial(ofProxied: host)
        {
            return receiver.ended(denial.at(elsewhere))
        }
        let name = route.nameToResolve(for: address.url)
        look(up: name) { [self] result in
            do throws(TransportError) {
                let answer: NameResolver.Answer
                switch result {
                case .success(let found): answer = found
                case .failure(let error): throw route.proxy.map { error.of($0) } ?? error
                }
                // The user has set the proxy, so its own address is not checked.
                let addresses =
                    route == .direct ? try denied.allowed(answer.addresses) : answer.addresses
                var step = step
                step.paths =
                    ConnectionPath.all(route, from: sources, to: name, addresses, within: options.connectTimeout)[...]
                (step.isProven, step.lookupTime) = (answer.isProven, answer.took)
                send(step, to: address, clients)
            } catch {
                receiver.ended(error.at(elsewhere))
            }
        }
    }

    /// Looks a name up, unless it is `nil`. Calls `found` at once if the answer is known or `name` is `nil`, otherwise
    /// on an event loop.
    private func look(up name: String?, _ found: @escaping NameResolver.Receiver) {
        guard let name else { return found(.success(.init(addresses: [], isProven: true))) }
        if let known = options.names.known(name) { return found(.success(known)) }
        // The resolver calls back on any thread, but the `ResponseReceiver` must be called on an event loop.
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let id = options.names.resolve(name, for: request.download, within: options.connectTimeout) { result in
            loop.execute { found(result) }
        }
        cancellation.add(id)
    }

    /// Returns the host of a request that redirects led to; `nil` for the request itself.
    private func elsewhere(_ step: ExchangeStep, _ address: HTTPURL) -> String? {
        step.redirects.url == request.url ? nil : address.url.host
    }

    private func send(_ step: ExchangeStep, to address: HTTPURL, _ clients: HTTPClients) {
        guard let paths = step.paths, let path = paths.first else {
            return receiver.ended(TransportError(.nameNotResolved))
        }
        let sent = SentRequest(fields, step, to: address, over: path.route, options, request.cookies)
        let call: HTTPClient.Request
        do { call = try sent.call() } catch { return receiver.ended(TransportError(error)) }
        let delegate = ResponseDelegate(
            url: step.redirects.url,
            requested: request.url,
            credentials: sent.request.credentials,
            receiver: receiver,
            onConnection: { [options] in
                if !step.isProven, let peer = path.peer { options.names.connected(peer.name, to: peer.address) }
            },
            judge: { sent.judge($0) }
        )
        let task = clients.take(path).execute(request: call, delegate: delegate)
        cancellation.add(task)
        delegate.watch(task, stallTimeout: TimeAmount(options.stallTimeout))
        let connecting = ConnectingWatch(task: task, delegate: delegate, limit: options.connectTimeout)
        connecting.endInTime(afterLookup: step.lookupTime)
        if !step.isProven, !step.isRaced { connecting.race(paths, port: path.route.port(for: address.url)) }
        task.futureResult.whenComplete { [self] result in
            let isConnected = delegate.isConnected
            clients.release(path, isSettled: isConnected || !ConnectingWatch.leavesAttempt(result))
            switch delegate.judgement(of: result) {
            case .success(let judgement): act(on: judgement, step, path.route, clients)
            case .failure(let answer as BrokenOffAnswer):
                delegate.pass(answer, until: cancellation, on: task.eventLoop).whenComplete { [self] result in
                    var error = answer.cause
                    if case .failure(let refusal) = result { error = refusal }
                    receiver.ended(step.failure(error, over: path, isConnected: true).at(elsewhere(step, address)))
                }
            case .failure(let error):
                if let next = step.next(after: error, isConnected: isConnected) { return ask(next, clients) }
                let failure = step.failure(error, over: path, isConnected: isConnected)
                if !isConnected, failure.isOfConnecting, let peer = path.peer { options.names.failed(peer.name) }
                receiver.ended(failure.at(elsewhere(step, address)))
            }
        }
    }

    /// Ends the exchange or sends the next request, as the judgement says.
    private func act(on judgement: AnswerJudgement, _ step: ExchangeStep, _ route: Route, _ clients: HTTPClients) {
        switch judgement {
        case .deliver: receiver.ended(nil)
        case .redirect(let redirects): admit(ExchangeStep(redirects), clients)
        case .authenticate:
            var next = step
            next.challenges += 1
            admit(next, clients)
        case .proxyChallenge:
            receiver.ended(route.proxy.map { TransportError.isNotLetIn(by: $0) } ?? TransportError(.proxyRefused))
        case .fail(let error): receiver.ended(error)
        }
    }
}

extension HTTPTransport.Options {
    /// Returns the addresses that a request must not reach.
    ///
    /// A playlist from the public network must not make Haul send requests to machines of the user's own network.
    fileprivate func deniedAddresses(for request: TransportRequest) -> [AddressBlock] {
        guard let host = request.playlistHost, !isNotPublic(host) else { return deniedAddresses }
        return deniedAddresses + AddressBlock.nonPublic
    }

    private func isNotPublic(_ host: String) -> Bool {
        let blocks = AddressBlock.nonPublic
        if blocks.denial(ofProxied: host) != nil { return true }
        return names.known(host)?.addresses.contains { blocks.denial(of: $0.text) != nil } ?? false
    }
}
