internal import HTTPTypes
internal import Hummingbird

/// Adds routes to a router. A path that answers GET also answers HEAD. Any other method gets 405 and `Allow` (RFC 9110
/// §15.5.6).
final class RouteTable {
    typealias Handler = @Sendable (Request, ServerContext) async throws -> Response

    private let router: Router<ServerContext>
    private var handlers: [String: [HTTPRequest.Method: Handler]] = [:]
    private static let methods: [HTTPRequest.Method] = [
        .get, .head, .post, .put, .patch, .delete, .options, .trace,
    ]

    init(_ router: Router<ServerContext>) { self.router = router }

    func get(_ path: String, use handler: @escaping Handler) { handlers[path, default: [:]][.get] = handler }
    func head(_ path: String, use handler: @escaping Handler) { handlers[path, default: [:]][.head] = handler }
    func post(_ path: String, use handler: @escaping Handler) { handlers[path, default: [:]][.post] = handler }
    func patch(_ path: String, use handler: @escaping Handler) { handlers[path, default: [:]][.patch] = handler }
    func delete(_ path: String, use handler: @escaping Handler) { handlers[path, default: [:]][.delete] = handler }

    /// Adds the routes to the router. Call this method once, after the last route.
    func finish() {
        for (path, given) in handlers {
            var known = given
            if known[.head] == nil, let get = known[.get] { known[.head] = Self.head(of: get) }
            for (method, handler) in known { router.on(RouterPath(path), method: method, use: handler) }
            let allowed = known.keys.map(\.rawValue).sorted().joined(separator: ", ")
            for method in Self.methods where known[method] == nil {
                router.on(RouterPath(path), method: method) { _, _ in RouteTable.notAllowed(allowed) }
            }
        }
    }

    /// Returns a handler with the fields of the answer to GET, and without its content.
    private static func head(of get: @escaping Handler) -> Handler {
        { request, context in
            var response = try await get(request, context)
            let length = response.body.contentLength
            response.body = .init(contentLength: length) { writer in try await writer.finish(nil) }
            return response
        }
    }

    private static func notAllowed(_ allowed: String) -> Response {
        let problem = Problem(.methodNotAllowed, "methodNotAllowed", "This path answers \(allowed) alone.")
        var response = problem.response()
        response.headers[.allow] = allowed
        return response
    }
}
