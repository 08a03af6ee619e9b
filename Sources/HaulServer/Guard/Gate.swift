internal import HTTPTypes
package import Hummingbird

/// Checks each request before routing: the host that it names, the page from which it comes, and its sender. Admits
/// every request over the Unix socket.
///
/// Without a sign-in, a client may only read `openPaths`, sign in, and exchange a one-time code for a key. Any other
/// path gets 401, even if it has no route.
package struct Gate: RouterMiddleware {
    package typealias Context = ServerContext

    package let live: LiveConfiguration
    package let token: AccessToken
    let sessions: Sessions
    let keys: ScopedKeys
    let cookie: SessionCookie
    package let tries: WrongTries
    /// Paths that contain no data of the user, so reading them needs no sign-in. Compared with the undecoded path of a
    /// request, without its query.
    let openPaths: Set<String>
    let refusals: RefusalLog

    static let signIn = "/api/v1/session"
    /// Path at which a browser extension gets a key in exchange for a one-time code.
    static let connecting = "/api/v1/keys"
    /// Path that reports only whether the caller is signed in, so that a page can ask without an error.
    static let signInState = "/api/v1/session/state"

    package func handle(
        _ request: Request,
        context: ServerContext,
        next: (Request, ServerContext) async throws -> Response
    ) async throws -> Response {
        do {
            let context = try await admit(request.head, context)
            return try await next(request, context)
        } catch let problem as Problem {
            if problem.code == "hostNotAllowed" || problem.code == "originNotAllowed" {
                refusals.note(problem)
            }
            throw problem
        }
    }

    private func admit(_ head: HTTPRequest, _ context: ServerContext) async throws -> ServerContext {
        guard let path = head.path, path.hasPrefix("/") else {
            throw Problem.badRequest("The request must name a path.")
        }
        guard path.utf8.count <= 8 << 10 else {
            throw Problem(
                .init(code: 414, reasonPhrase: "URI Too Long"),
                "uriTooLong",
                "The path is longer than 8 KiB."
            )
        }
        if context.isLocal { return context }
        _ = try HostCheck(allowed: live.configuration.allowedHosts).host(of: head)
        let plain = String(path.prefix { $0 != "?" })
        let isReading = head.method == .get || head.method == .head
        if let sent = head.headerFields[.authorization] {
            let words = sent.split(separator: " ", maxSplits: 1)
            guard words.count == 2, words[0].lowercased() == "bearer" else { throw tries.problem() }
            let secret = String(words[1])
            if token.isEqual(to: secret) { return context }
            guard let key = await keys.key(secret) else { throw tries.problem() }
            try KeyScope.check(head.method, plain)
            var context = context
            context.key = key
            return context
        }
        if head.method == .post, path == Self.connecting {
            try OriginCheck.checkExtension(head)
            return context
        }
        let isPage = isReading && (plain == "/" || plain == "/index.html")
        try OriginCheck.check(head, isPage ? .page : isReading ? .reading : .writing, isSecure: isSecure(head, context))
        var context = context
        if let secret = cookie.value(of: head) { context.session = await sessions.session(secret) }
        if isReading, openPaths.contains(plain) { return context }
        if head.method == .post, path == Self.signIn { return context }
        guard context.session != nil else {
            throw Problem(
                .unauthorized,
                "unauthorized",
                "Sign in first.",
                suggestion: "Open the link that haul serve printed, or send Authorization: Bearer TOKEN."
            )
        }
        return context
    }

    /// Whether a trusted proxy reports that the browser uses TLS.
    func isSecure(_ head: HTTPRequest, _ context: ServerContext) -> Bool {
        guard let peer = context.peer, live.configuration.trustedProxies.contains(peer) else { return false }
        return head.headerFields.text("X-Forwarded-Proto")?.lowercased() == "https"
    }
}

extension HTTPError {
    package var problem: Problem {
        switch status {
        case .notFound: .notFound
        default: Problem(status, "badRequest", body ?? status.reasonPhrase)
        }
    }
}
