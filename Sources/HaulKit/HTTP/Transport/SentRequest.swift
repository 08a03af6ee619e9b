internal import AsyncHTTPClient
internal import Foundation
internal import NIOHTTP1

/// The request of a step as it is sent over a route. Judges the head of the answer.
///
/// Has no reference to its exchange, because it would make a cycle: the exchange keeps the task of the HTTP client, and
/// the task keeps this value.
struct SentRequest: Sendable {
    let step: ExchangeStep
    let address: HTTPURL
    let route: Route
    let options: HTTPTransport.Options
    let cookies: CookieJar?
    let request: RequestFields.Request

    init(
        _ fields: RequestFields,
        _ step: ExchangeStep,
        to address: HTTPURL,
        over route: Route,
        _ options: HTTPTransport.Options,
        _ cookies: CookieJar?
    ) {
        self.step = step
        self.address = address
        self.route = route
        self.options = options
        self.cookies = cookies
        var request = fields.request(after: step.redirects) { own in
            cookies?.field(for: step.redirects.url, own: own)
        }
        if let key = request.key,
            let authorization = options.authenticator.authorization(
                key,
                method: request.method,
                target: address.target
            )
        {
            request.authorize(with: authorization)
        }
        self.request = request
    }

    /// Returns the request for the HTTP client, with the fields that depend on the route.
    func call() throws -> HTTPClient.Request {
        var headers = HTTPHeaders(request.headers)
        route.add(to: &headers, for: address)
        if options.admission?.closesConnection(to: address.url) == true {
            headers.replaceOrAdd(name: "Connection", value: "close")
        }
        return try HTTPClient.Request(
            url: route.address(of: address.url),
            method: request.body == nil ? .GET : .POST,
            headers: headers,
            body: request.body.map { HTTPClient.Body.bytes($0) }
        )
    }

    /// Judges the head of the answer, and notes its status, its cookies and its challenges for further requests.
    func judge(_ head: ResponseHead) -> AnswerJudgement {
        if let admission = options.admission {
            let now = head.headers.first(name: "Date").flatMap { HTTPDate.parse($0, now: Date()) } ?? Date()
            admission.answered(address.url, status: head.status, retryAfter: head.headers.retryAfter(now: now))
        }
        let judgement = AnswerJudgement.judge(
            head,
            to: request,
            after: step.redirects,
            challenges: step.challenges,
            isForwarded: isForwarded
        ) { challenges, key, isFirst in
            options.authenticator.learn(challenges, key, sent: request.nonce, isFirst: isFirst)
        }
        if judgement == .proxyChallenge { return judgement }
        cookies?.store(head.headers["Set-Cookie"], from: address.url)
        if head.status != 401, let key = request.key, request.nonce != nil {
            options.authenticator.renew(head.headers["Authentication-Info"], key)
        }
        return judgement
    }

    private var isForwarded: Bool {
        if case .forward = route { true } else { false }
    }
}

extension RequestFields {
    /// Makes the fields of an exchange. The login comes from the URL first, then from `.netrc`.
    init(_ request: TransportRequest, _ options: HTTPTransport.Options) {
        let login =
            request.url.credentials.map { Login(Credentials($0), from: .url) }
            ?? options.netrc?.credentials(host: request.url.host ?? "", isNamed: request.isChosenByOthers)
            .map { Login(Credentials($0), from: .netrc) }
        self.init(
            user: request.headers,
            userAgent: options.userAgent,
            method: request.method,
            from: request.firstByte,
            to: request.end,
            condition: request.condition,
            login: login
        )
    }
}
