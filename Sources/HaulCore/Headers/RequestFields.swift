package import Foundation

/// Decides which header fields each request of an exchange carries: the first one, its repetitions, its redirects.
///
/// The user's fields and the credentials go to the origin of the first URL only.
package struct RequestFields: Sendable {
    /// A user name and a password for the origin of the first URL.
    package struct Login: Sendable, Equatable {
        let credentials: Credentials
        let source: CredentialSource

        package init(_ credentials: Credentials, from source: CredentialSource) {
            self.credentials = credentials
            self.source = source
        }
    }

    let user: [HeaderField]
    /// Value of `User-Agent` if the user's fields have none.
    let userAgent: String
    let method: DownloadRequest.Method
    /// Position of the first requested byte.
    let firstByte: Int64
    /// Position after the last requested byte; `nil` for all bytes from ``firstByte`` on.
    let end: Int64?
    /// Ignored without a range.
    let condition: RangeRequest.Condition
    let login: Login?

    /// - Parameters:
    ///   - user: the user's header fields.
    ///   - firstByte: position of the first requested byte.
    ///   - end: position after the last requested byte; `nil` for all bytes from `firstByte` on.
    ///   - condition: the condition of a range request; ignored without a range.
    ///   - login: `nil` for none.
    package init(
        user: [HeaderField] = [],
        userAgent: String,
        method: DownloadRequest.Method = .get,
        from firstByte: Int64 = 0,
        to end: Int64? = nil,
        condition: RangeRequest.Condition = .none,
        login: Login? = nil
    ) {
        self.user = user
        self.userAgent = userAgent
        self.method = method
        self.firstByte = firstByte
        self.end = end
        self.condition = condition
        self.login = login
    }

    /// Returns the next request.
    ///
    /// - Parameters:
    ///   - redirects: the redirects up to the request.
    ///   - cookies: returns the `Cookie` field of the request, given the user's own `Cookie` fields.
    package func request(after redirects: RedirectPolicy, cookies: (_ own: [String]) -> String?) -> Request {
        var headers = HeaderFields()
        if redirects.carriesUserHeaders {
            for field in user where !Self.ours.contains(field.name.lowercased()) {
                headers.add(name: field.name, value: field.value)
            }
        }
        if let field = cookies(headers["Cookie"]) { headers.replaceOrAdd(name: "Cookie", value: field) }
        if !headers.contains(name: "User-Agent") { headers.add(name: "User-Agent", value: userAgent) }
        if !headers.contains(name: "Accept") { headers.add(name: "Accept", value: "*/*") }
        // Accept-Encoding, Range and its condition.
        for (name, value) in RangeRequest.fields(from: firstByte, to: end, condition) {
            headers.add(name: name, value: value)
        }
        var body: Data?
        if redirects.keepsMethod, case .post(let bytes, let type) = method {
            body = bytes
            headers.replaceOrAdd(name: "Content-Type", value: type)
        }
        let isAuthorized = headers.contains(name: "Authorization")
        let login = redirects.carriesUserHeaders && !isAuthorized ? self.login : nil
        return Request(
            headers: headers,
            body: body,
            login: login,
            key: login.map { Authentications.Key(origin: Origin(redirects.url), credentials: $0.credentials) },
            credentials: isAuthorized ? .header : nil
        )
    }

    /// Name of the field that carries the request target to the connection. It is never sent, and never taken from the
    /// user's fields.
    package static let target = "haul-request-target"

    /// Fields that a user cannot set, because the engine's guarantees depend on them.
    private static let ours: Set = [
        "accept-encoding", "proxy-authorization", "range", "if-range", "if-match", "if-unmodified-since",
        "content-length",
        "transfer-encoding", "connection", "te", "upgrade", target,
    ]
}

extension RequestFields {
    /// One request of an exchange, without the fields that depend on the route.
    package struct Request: Sendable, Equatable {
        package private(set) var headers: HeaderFields
        /// The body of a POST; `nil` for a GET.
        package let body: Data?
        private let login: Login?
        /// The origin and the credentials to authenticate with; `nil` for none, or if the user has set an
        /// `Authorization` field.
        package let key: Authentications.Key?
        /// Source of the credentials in the fields; `nil` if there are none.
        package private(set) var credentials: CredentialSource?
        /// The nonce of the digest in the fields; `nil` if there is none.
        package private(set) var nonce: String?

        fileprivate init(
            headers: HeaderFields,
            body: Data?,
            login: Login?,
            key: Authentications.Key?,
            credentials: CredentialSource?
        ) {
            self.headers = headers
            self.body = body
            self.login = login
            self.key = key
            self.credentials = credentials
        }

        package var method: String { body == nil ? "GET" : "POST" }

        /// Adds the authorization for ``key``.
        package mutating func authorize(with authorization: Authentications.Authorization) {
            headers.add(name: "Authorization", value: authorization.field)
            credentials = login?.source
            nonce = authorization.nonce
        }
    }
}
