internal import Foundation
internal import HTTPTypes
internal import HaulKit
internal import Hummingbird

/// Routes that sign in and out.
struct SessionRoutes {
    let gate: Gate
    let codes: OneTimeCodes
    /// Makes a new link that signs in; returns `nil` if no page is served.
    let link: @Sendable () -> String?

    private struct Answer: Encodable {
        var version: String
        var hostName: String
    }

    func add(to routes: RouteTable) {
        routes.post("/api/v1/session") { request, context in try await signIn(request, context) }
        routes.get("/api/v1/session") { _, _ in
            JSONBody.response(Answer(version: Downloader.version, hostName: ProcessInfo.processInfo.hostName))
        }
        routes.post("/api/v1/session/codes") { _, context in
            // Answers only over the Unix socket. With a link, a session could make another session, and so never
            // expire.
            guard context.isLocal else {
                throw Problem(.forbidden, "localOnly", "Links are made over the Unix socket alone: haul open.")
            }
            guard let link = link() else {
                throw Problem(.conflict, "noPage", "The daemon serves no page: it was started with --listen off.")
            }
            return JSONBody.response(["link": link])
        }
        routes.get("/api/v1/session/state") { request, context in
            let isSignedIn = context.isLocal || context.session != nil || request.headers[.authorization] != nil
            return JSONBody.response(["signedIn": isSignedIn])
        }
        routes.delete("/api/v1/session") { _, context in
            if let session = context.session { await gate.sessions.end(session) }
            if let key = context.key { _ = try await gate.keys.revoke(key.id) }
            return Response(status: .noContent, headers: [.setCookie: gate.cookie.removing])
        }
    }

    private func signIn(_ request: Request, _ context: ServerContext) async throws -> Response {
        var body = try await JSONBody(request, limit: 64 << 10)
        let (token, code) = (try body.optional("token", String.self), try body.optional("code", String.self))
        try body.finish()
        let isRight: Bool
        switch (token, code) {
        case (let token?, nil): isRight = gate.token.isEqual(to: token)
        case (nil, let code?): isRight = codes.redeem(code)
        default: throw Problem(.unprocessableContent, "missingField", "Name either token or code.")
        }
        guard isRight else { throw gate.tries.problem() }
        let secret = await gate.sessions.make()
        let cookie = gate.cookie.setting(secret, isSecure: gate.isSecure(request.head, context))
        return Response(status: .noContent, headers: [.setCookie: cookie])
    }
}
