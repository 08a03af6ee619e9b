internal import HTTPTypes
package import Hummingbird

/// Adds security fields to every answer, including errors.
package struct SecurityHeaders: RouterMiddleware {
    package typealias Context = ServerContext

    package static let policy = [
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:", "connect-src 'self'",
        "manifest-src 'self'", "media-src 'self'", "frame-src 'self'", "base-uri 'none'", "form-action 'self'",
        "frame-ancestors 'none'",
    ].joined(separator: "; ")

    package func handle(
        _ request: Request,
        context: ServerContext,
        next: (Request, ServerContext) async throws -> Response
    ) async throws -> Response {
        var response: Response
        do { response = try await next(request, context) } catch let error as HTTPError {
            response = error.problem.response()
        } catch let problem as Problem {
            response = problem.response()
        }
        if request.method == .head, response.status.code >= 400 {
            // Keeps the fields of the answer to GET, without its content.
            let length = response.body.contentLength
            response.body = .init(contentLength: length) { writer in try await writer.finish(nil) }
        }
        func add(_ name: String, _ value: String) {
            guard let name = HTTPField.Name(name), response.headers[name] == nil else { return }
            response.headers[name] = value
        }
        add("Content-Security-Policy", Self.policy)
        add("X-Content-Type-Options", "nosniff")
        add("Referrer-Policy", "no-referrer")
        add("Cross-Origin-Opener-Policy", "same-origin")
        add("Cross-Origin-Resource-Policy", "same-origin")
        add("X-Frame-Options", "DENY")
        add("Cache-Control", "no-store")
        return response
    }
}
