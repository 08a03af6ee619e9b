internal import Foundation
internal import HTTPTypes
internal import HaulKit
internal import Hummingbird

/// Routes that connect browser extensions, and list and revoke their keys.
struct KeyRoutes {
    let keys: ScopedKeys
    let tries: WrongTries
    /// Codes for keys, separate from the codes that sign in.
    let codes: OneTimeCodes
    /// Returns the address of the page; `nil` if no page is served.
    let page: @Sendable () -> String?

    private struct Code: Encodable {
        var code: String
        /// The address with the code, to paste into the extension; absent if no page is served.
        var link: String?
    }
    private struct Item: Encodable {
        var id: String
        var name: String
        var addedAt: String
    }
    private struct Connected: Encodable {
        var id: String
        /// The secret, which no later answer contains.
        var key: String
    }

    func add(to routes: RouteTable) {
        routes.post("/api/v1/keys/codes") { _, _ in
            let code = codes.make()
            return JSONBody.response(Code(code: code, link: page().map { $0 + "#connect=" + code }))
        }
        routes.get("/api/v1/keys") { _, _ in
            let items = await keys.list.map {
                Item(id: $0.id, name: $0.name, addedAt: Timestamp.text($0.addedAt))
            }
            return JSONBody.response(["items": items])
        }
        routes.post("/api/v1/keys") { request, _ in try await connect(request) }
        routes.delete("/api/v1/keys/:id") { _, context in
            guard let id = context.parameters.get("id"), try await keys.revoke(id) else {
                throw Problem(.notFound, "notFound", "There is no key with this id.")
            }
            return Response(status: .noContent)
        }
    }

    private func connect(_ request: Request) async throws -> Response {
        var body = try await JSONBody(request, limit: 64 << 10)
        let code = try body.required("code", String.self)
        let name = try body.text("name", upTo: 200)
        try body.finish()
        guard codes.redeem(code) else { throw tries.problem() }
        let (key, secret) = try await keys.make(named: name ?? "")
        return JSONBody.response(Connected(id: key.id, key: secret))
    }
}
