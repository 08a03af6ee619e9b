internal import HTTPTypes
internal import HaulKit

/// Rights of a browser extension's key: it may add downloads and sets, list its own, give its own downloads a fresh
/// link, resume them, and cancel or forget its own sets.
///
/// Lists the allowed routes, so that a route that is added later is not open to keys by accident.
enum KeyScope {
    private static let routes: Set = [
        "GET /api/v1/session", "DELETE /api/v1/session", "GET /api/v1/downloads", "POST /api/v1/downloads",
        "POST /api/v1/probe", "GET /api/v1/downloads/:id", "PATCH /api/v1/downloads/:id",
        "POST /api/v1/downloads/:id/resume", "POST /api/v1/sets/preview", "POST /api/v1/sets", "GET /api/v1/sets",
        "GET /api/v1/sets/:id", "DELETE /api/v1/sets/:id",
    ]

    /// Checks the route of a request with a key.
    ///
    /// - Parameter path: the path as it was sent, without the query.
    static func check(_ method: HTTPRequest.Method, _ path: String) throws(Problem) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).map { part in
            DownloadID(String(part)) == nil ? String(part) : ":id"
        }
        // Checks HEAD as GET, because HEAD is GET without the content (RFC 9110 §9.3.2).
        let method = method == .head ? .get : method
        guard routes.contains(method.rawValue + " " + parts.joined(separator: "/")) else { throw refusal }
    }

    static let refusal = Problem(
        .forbidden,
        "outOfScope",
        "The key of a browser extension may only add downloads and sets, list those that it added, and renew their links."
    )
}
