import Foundation
import HaulCore
import HaulTesting
import Synchronization

/// A web server on loopback whose files a test changes while it runs.
final class SetSite: Sendable {
    private final class Shelf: Sendable {
        let answers = Mutex<[String: @Sendable (TestRequest) -> TestReply]>([:])
    }

    private let shelf: Shelf
    private let server: TestServer

    private init(_ shelf: Shelf, _ server: TestServer) { (self.shelf, self.server) = (shelf, server) }

    /// Runs `body` with a site that has no files, and stops the site.
    static func with(_ body: (SetSite) async throws -> Void) async throws {
        let shelf = Shelf()
        let server = try await TestServer.start { request in
            let answer = shelf.answers.withLock { $0[request.path] }
            return answer?(request) ?? .empty(404, "Not Found")
        }
        do { try await body(SetSite(shelf, server)) } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }

    /// Serves a file. Its entity tag follows its bytes.
    ///
    /// - Parameters:
    ///   - path: as in a request line: starts with a slash, percent-encoded.
    ///   - modified: the value of `Last-Modified`; `nil` for none.
    func put(
        _ path: String,
        _ content: TestContent,
        type: String = "application/octet-stream",
        modified: String? = nil
    ) {
        let etag = "\"\(content.digest(.sha1).hexadecimal)\""
        var resource = FileResource(content: content, etag: etag, lastModified: modified)
        resource.contentType = type
        put(path) { [resource] in resource.reply(to: $0) }
    }

    func put(_ path: String, _ bytes: some Sequence<UInt8>, type: String = "application/octet-stream") {
        put(path, TestContent(bytes), type: type)
    }

    func put(_ path: String, answer: @escaping @Sendable (TestRequest) -> TestReply) {
        shelf.answers.withLock { $0[path] = answer }
    }

    /// Redirects a path.
    func redirect(_ path: String, to location: String) {
        put(path) { _ in .empty(302, "Found", headers: [("Location", location)]) }
    }

    func remove(_ path: String) { shelf.answers.withLock { $0[path] = nil } }

    func url(_ path: String) -> String { server.url(path) }

    /// The paths of the requests so far, in their order.
    var paths: [String] { server.requests.map(\.path) }
    var requests: [TestRequest] { server.requests }
    /// Number of body bytes that were sent so far.
    var bytesSent: Int64 { server.bodyBytesSent }
}

extension TestContent {
    /// SHA-256 in lower-case hexadecimal.
    var sha256: String { digest(.sha256).hexadecimal }
    /// The line of `SHA256SUMS` for a file with this content.
    func line(_ name: String) -> String { "\(sha256)  \(name)\n" }
}
