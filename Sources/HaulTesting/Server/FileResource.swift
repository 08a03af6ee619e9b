/// A file as a correct server serves it (ranges, conditions, validators), with properties for faults.
///
/// ```swift
/// var file = FileResource(bytes, etag: "\"1\"")
/// file.bodyLimit = 1000
/// file.ending = .reset
/// let server = try await TestServer.start(serving: ["/file.bin": file])
/// ```
///
/// The server answers 405 to all methods except GET and HEAD.
public struct FileResource: Sendable {
    /// The action of the server after the last byte of a body.
    public enum Ending: Sendable {
        /// No fault: the connection takes the next request.
        case complete
        /// The orderly end of the connection: a FIN, with TLS a close_notify before it.
        case close
        /// With TLS the end of the TCP connection without a close_notify; without TLS the same as `close`.
        case closeAbruptly
        /// A TCP RST.
        case reset
        /// Nothing follows, and the connection stays open.
        case stall
    }

    /// The representation (RFC 9110 §3.2).
    package var content: TestContent
    /// The value of `ETag`, with its quotes and perhaps `W/`; `nil` to leave the field out.
    package var etag: String?
    /// The value of `Last-Modified`; `nil` to leave the field out.
    package var lastModified: String?
    /// The value of `Date`; `nil` to leave the field out.
    package var date: String?
    /// The value of `Content-Type`.
    package var contentType = "application/octet-stream"
    /// Fields added to every 200 and 206.
    package var extraHeaders: [(String, String)] = []
    /// The value of `Accept-Ranges` in a 200 or 206; `nil` to leave the field out.
    package var acceptRanges: String? = "bytes"
    /// Whether the server obeys `Range`; otherwise it answers 200 with the whole content.
    package var honoursRange = true
    /// Whether the server obeys `If-Range`; otherwise it answers 206 even if the validator does not match.
    package var honoursIfRange = true
    /// Whether the server answers every `If-Range` with 200, even a matching one, as some delivery networks do.
    package var ignoresRangeWhenIfRangePresent = false
    /// The pace of the body in bytes per second; `nil` for no limit.
    package var bytesPerSecond: Int?
    /// Number of bytes of each body that are sent before ``ending``; `nil` for all. Has no effect if ``ending`` is
    /// `complete`. A body of at most this length is sent whole, without a fault.
    public var bodyLimit: Int64?
    /// The action after a body that was cut at ``bodyLimit``. If there is no limit, the action after every body.
    public var ending: Ending = .complete

    /// Makes a resource without faults that serves these bytes.
    ///
    /// - Parameters:
    ///   - etag: the value of `ETag`, with its quotes. Downloads without any validator are not resumed.
    ///   - lastModified: the value of `Last-Modified`.
    public init(_ bytes: some Sequence<UInt8>, etag: String? = nil, lastModified: String? = nil) {
        self.init(content: TestContent(bytes), etag: etag, lastModified: lastModified)
    }

    /// Makes a resource without faults.
    package init(content: TestContent, etag: String? = nil, lastModified: String? = nil) {
        self.content = content
        self.etag = etag
        self.lastModified = lastModified
    }

    /// Returns the answer to a request, with the faults that are set.
    package func reply(to request: TestRequest) -> TestReply {
        guard ["GET", "HEAD"].contains(request.method) else {
            return kept(.empty(405, "Method Not Allowed", headers: [("Allow", "GET, HEAD")]), for: request)
        }
        switch outcome(of: request) {
        case .preconditionFailed:
            return kept(.empty(412, "Precondition Failed"), for: request)
        case .notModified:
            // A 304 has no body and needs no length. A length would be that of the representation.
            return kept(TestReply([.head(status: 304, reason: "Not Modified", headers: validators)]), for: request)
        case .notSatisfiable:
            let headers = [("Content-Range", "bytes */\(content.count)")]
            return kept(.empty(416, "Range Not Satisfiable", headers: headers), for: request)
        case .whole:
            return transfer(0..<content.count, status: 200, reason: "OK", headers: [], for: request)
        case .part(let range):
            let value = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(content.count)"
            let headers = [("Content-Range", value)]
            return transfer(range, status: 206, reason: "Partial Content", headers: headers, for: request)
        }
    }

    private func transfer(
        _ range: Range<Int64>,
        status: Int,
        reason: String,
        headers: [(String, String)],
        for request: TestRequest
    ) -> TestReply {
        var fields = [("Content-Type", contentType), ("Content-Length", "\(range.count)")] + headers + validators
        if let acceptRanges { fields.append(("Accept-Ranges", acceptRanges)) }
        let head = TestStep.head(status: status, reason: reason, headers: fields + extraHeaders)
        return kept(TestReply([head] + (request.method == "HEAD" ? [] : body(range))), for: request)
    }

    private func body(_ range: Range<Int64>) -> [TestStep] {
        let limit = ending == .complete ? Int64.max : bodyLimit ?? Int64(range.count)
        let isCut = limit < range.count
        let sent = isCut ? range.lowerBound..<(range.lowerBound + limit) : range
        let end = isCut || bodyLimit == nil ? ending.steps : []
        if let bytesPerSecond { return [.slow(sent, of: content, bytesPerSecond: bytesPerSecond)] + end }
        return [.body(sent, of: content)] + end
    }

    private var validators: [(String, String)] {
        let fields = [("Date", date), ("ETag", etag), ("Last-Modified", lastModified)]
        return fields.compactMap { name, value in value.map { (name, $0) } }
    }

    /// Ends the connection after the reply if the request has `Connection: close`.
    private func kept(_ reply: TestReply, for request: TestRequest) -> TestReply {
        guard request["Connection"]?.lowercased() == "close",
            case .head(let status, let reason, let headers)? = reply.steps.first
        else { return reply }
        let head = TestStep.head(status: status, reason: reason, headers: headers + [("Connection", "close")])
        return TestReply([head] + reply.steps.dropFirst(), keepsAlive: false)
    }
}

extension FileResource.Ending {
    fileprivate var steps: [TestStep] {
        switch self {
        case .complete: []
        case .close: [.close]
        case .closeAbruptly: [.closeAbruptly]
        case .reset: [.reset]
        case .stall: [.stall]
        }
    }
}
