import HaulTesting

@testable import HaulCore
@testable import HaulKit

extension FileResource {
    /// Returns this resource with answers that fall silent after `limit` bytes.
    func silent(after limit: Int64) -> FileResource {
        var resource = self
        resource.bodyLimit = limit
        resource.ending = .stall
        return resource
    }

    /// Returns a handler whose first eight answers fall silent after `limit` bytes. Later ones have no body:
    /// silent connections are replaced after some seconds, so on a busy machine their bodies could complete the file.
    func neverComplete(after limit: Int64) -> DownloaderRig.Handler {
        let (part, empty) = (silent(after: limit), silent(after: 0))
        return { ($0.requestNumber <= 8 ? part : empty).reply(to: $0) }
    }

    /// Returns this resource with a connection that ends after `limit` bytes of each body. A short silence before the
    /// end lets these bytes arrive.
    func breaking(
        after limit: Int64,
        silence: Duration = .milliseconds(250),
        with end: TestStep = .close
    ) -> BreakingResource {
        BreakingResource(resource: silent(after: limit), silence: silence, end: end)
    }

    /// Returns a handler whose first answer falls silent at ``cut``. `rest` gives the later answers.
    func silentFirst(then rest: @escaping DownloaderRig.Handler) -> DownloaderRig.Handler {
        let first = silent(after: cut)
        return { $0.requestNumber == 1 ? first.reply(to: $0) : rest($0) }
    }

    /// Returns a handler whose first answer falls silent at ``cut`` and whose later answers are correct.
    func silentFirst() -> DownloaderRig.Handler {
        silentFirst { self.reply(to: $0) }
    }

    /// Returns a handler whose first answer falls silent at ``cut``, whose second is `odd`, and whose later ones are
    /// correct.
    func silentFirst(second odd: TestReply) -> DownloaderRig.Handler {
        silentFirst { $0.requestNumber == 2 ? odd : self.reply(to: $0) }
    }
}

/// A resource that cuts off its bodies; see `FileResource.breaking(after:silence:with:)`.
struct BreakingResource: Sendable {
    let resource: FileResource
    let silence: Duration
    let end: TestStep

    func reply(to request: TestRequest) -> TestReply {
        var reply = resource.reply(to: request)
        if case .stall? = reply.steps.last {
            reply.steps.removeLast()
            reply.steps += [.wait(silence), end]
        }
        return reply
    }
}

extension TestReply {
    /// A 206 with the given fields and body, and its `Content-Length`.
    static func partial(_ headers: [(String, String)], body: Range<Int64>, of content: TestContent) -> TestReply {
        let length = ("Content-Length", "\(body.count)")
        let head = TestStep.head(status: 206, reason: "Partial Content", headers: [length] + headers)
        return TestReply([head, .body(body, of: content)])
    }

    /// A 200 whose body ends with the connection.
    static func untilClose(
        _ content: TestContent,
        headers: [(String, String)] = [],
        ending: TestStep = .close
    ) -> TestReply {
        let head = TestStep.head(status: 200, reason: "OK", headers: headers + [("Connection", "close")])
        return TestReply([head, .body(0..<content.count, of: content), ending])
    }

    /// A 200 in the chunked coding. Unless `terminated`, it breaks off before the last chunk.
    static func chunked(
        _ content: TestContent,
        headers: [(String, String)] = [],
        terminated: Bool = true
    ) -> TestReply {
        let head = TestStep.head(status: 200, reason: "OK", headers: headers + [("Transfer-Encoding", "chunked")])
        let body = TestStep.chunked(0..<content.count, of: content, terminated: terminated)
        return TestReply([head, body] + (terminated ? [] : [.close]), keepsAlive: terminated)
    }

    static func redirect(to location: String, status: Int = 302) -> TestReply {
        .empty(status, "Found", headers: [("Location", location)])
    }

    static func page(_ text: String = "<html>Please log in.</html>", headers: [(String, String)] = []) -> TestReply {
        let fields = [("Content-Type", "text/html; charset=utf-8"), ("Content-Length", "\(text.utf8.count)")]
        return TestReply([.head(status: 200, reason: "OK", headers: fields + headers), .raw(Array(text.utf8))])
    }

    /// The bytes of `text`, then the end of the connection.
    static func raw(_ text: String) -> TestReply { TestReply([.raw(Array(text.utf8)), .close]) }
}

extension TestContent {
    /// The content of most tests, and another version of it.
    static let first = TestContent(seed: 1, count: 400_000)
    static let second = TestContent(seed: 2, count: 400_000)

    /// Returns a well-behaved resource with this content.
    func resource(etag: String? = "\"v1\"", lastModified: String? = nil) -> FileResource {
        FileResource(content: self, etag: etag, lastModified: lastModified)
    }
}
