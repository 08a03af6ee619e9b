import HaulTesting

@testable import HaulCore
@testable import HaulKit

extension FileResource {
    /// The same, but silent after so many bytes.
    func silent(after limit: Int64) -> FileResource {
        var resource = self
        resource.bodyLimit = limit
        resource.ending = .stall
        return resource
    }

    /// A handler whose first answer falls silent at ``cut``, and which then does as it is told.
    func silentFirst(then rest: @escaping DownloaderRig.Handler) -> DownloaderRig.Handler {
        let first = silent(after: cut)
        return { $0.requestNumber == 1 ? first.reply(to: $0) : rest($0) }
    }

    /// The same, then behaving.
    func silentFirst() -> DownloaderRig.Handler {
        silentFirst { self.reply(to: $0) }
    }

    /// A handler that answers the second request with `odd`, and every other as it should be.
    func silentFirst(second odd: TestReply) -> DownloaderRig.Handler {
        silentFirst { $0.requestNumber == 2 ? odd : self.reply(to: $0) }
    }
}

extension TestReply {
    /// A 206 with just these fields and this body.
    static func partial(_ headers: [(String, String)], body: Range<Int64>, of content: TestContent) -> TestReply {
        let length = ("Content-Length", "\(body.count)")
        let head = TestStep.head(status: 206, reason: "Partial Content", headers: [length] + headers)
        return TestReply([head, .body(body, of: content)])
    }

    /// A 200 whose length only the end of the connection tells.
    static func untilClose(
        _ content: TestContent,
        headers: [(String, String)] = [],
        ending: TestStep = .close
    ) -> TestReply {
        let head = TestStep.head(status: 200, reason: "OK", headers: headers + [("Connection", "close")])
        return TestReply([head, .body(0..<content.count, of: content), ending])
    }

    /// A 200 in the chunked coding, which breaks off before its last chunk if not `terminated`.
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

    /// These bytes, then the end of the connection.
    static func raw(_ text: String) -> TestReply { TestReply([.raw(Array(text.utf8)), .close]) }
}

extension TestContent {
    /// What most tests load, and another version of it.
    static let first = TestContent(seed: 1, count: 400_000)
    static let second = TestContent(seed: 2, count: 400_000)

    /// The whole content, of which a 200 to nobody's surprise is made.
    func resource(etag: String? = "\"v1\"", lastModified: String? = nil) -> FileResource {
        FileResource(content: self, etag: etag, lastModified: lastModified)
    }
}
