import Foundation
import NIOCore
import NIOEmbedded
import NIOHTTP1

@testable import HaulCore
@testable import HaulKit

/// The bytes of answers on a connection.
extension FuzzTarget {
    static let answers: [FuzzTarget] = [
        // U+001E marks the point at which the next request is written.
        FuzzTarget(
            "answers",
            [
                "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nETag: \"a\"\r\n\r\nhello",
                "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n5;x=y\r\nhello\r\n0\r\nX: y\r\n\r\n",
                "HTTP/1.0 200\r\n\r\nuntil the end",
                "HTTP/1.1 204 No\r\n\r\n\u{1E}HTTP/1.1 206 P\r\nContent-Range: bytes 0-1/2\r\nContent-Length: 2\r\n\r\nab\u{1E}",
                "HTTP/1.1 100 C\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Length: 3, 3\r\n\r\nabc",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\nContent-Length: 3\r\n\r\n1\r\na\r\n0\r\n\r\n",
                "\r\nHTTP/1.1 301 Moved \r\nLocation: /caf\u{E9}\r\n b\r\nX-Y : z\r\nContent-Length: 0\r\n\r\n",
                "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcd",
            ]
        ) { bytes in
            let segments = bytes.split(separator: 0x1E, maxSplits: 4, omittingEmptySubsequences: false)
            let whole = Heard(segments.map { [$0] })
            if let wrong = whole.wrong(segments.first ?? []) { return wrong }
            var random = SplitMix64(
                seed: bytes.reduce(14_695_981_039_346_656_037) { ($0 ^ UInt64($1)) &* 1_099_511_628_211 }
            )
            let pieces = Heard(
                segments.map { segment in
                    var (rest, pieces) = (segment, [ArraySlice<UInt8>]())
                    while !rest.isEmpty {
                        let piece = rest.prefix(1 + Int(random.next() % 24))
                        pieces.append(piece)
                        rest = rest.dropFirst(piece.count)
                    }
                    return pieces
                },
                asks: { random.next() % 3 > 0 }
            )
            return whole == pieces ? nil : "\(whole) as a whole and \(pieces) in pieces"
        }
    ]
}

/// The answers and errors that the decoder reports for the bytes of a connection.
private struct Heard: Equatable {
    struct Answer: Equatable {
        var head: HTTPResponseHead
        var body: [UInt8] = []
        /// `nil` while the answer goes on.
        var end: End?
    }
    /// The event that ended an answer: bytes, or the end of the connection.
    enum End { case inBytes, withConnection }

    var answers: [Answer] = []
    var failures: [String] = []
    /// A sequence of reports that must never occur.
    var contradiction: String?
    var requests = 0

    /// - Parameters:
    ///   - segments: the bytes after each request, in pieces.
    ///   - asks: decides whether the client asks for a piece before it arrives. After each segment the client asks for
    ///     the rest.
    init(_ segments: [[ArraySlice<UInt8>]], asks: () -> Bool = { true }) {
        let listener = Listener()
        let channel = EmbeddedChannel(handlers: [ResponseDecoder(), listener])
        let pipeline = channel.pipeline.syncOperations
        for segment in segments {
            // The client sends its next request only after a complete answer.
            guard listener.heard.answers.count(where: { $0.end != nil }) == requests, listener.heard.failures.isEmpty
            else {
                break
            }
            requests += 1
            let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/")
            pipeline.write(NIOAny(HTTPClientRequestPart.head(head)), promise: nil)
            pipeline.writeAndFlush(NIOAny(HTTPClientRequestPart.end(nil)), promise: nil)
            for piece in segment {
                if asks() { channel.pipeline.read() }
                pipeline.fireChannelRead(NIOAny(ByteBuffer(bytes: piece)))
                pipeline.fireChannelReadComplete()
            }
            for _ in segment where listener.heard.failures.isEmpty { channel.pipeline.read() }
            pipeline.fireChannelReadComplete()
        }
        listener.isClosing = true
        channel.close(promise: nil)
        channel.embeddedEventLoop.run()
        let written = requests
        self = listener.heard
        requests = written
    }

    fileprivate init() {}

    /// Returns a description of a violated rule; `nil` if there is none.
    func wrong(_ first: ArraySlice<UInt8>) -> String? {
        if let contradiction { return contradiction }
        if answers.count > requests { return "\(answers.count) answers to \(requests) requests" }
        for answer in answers {
            let status = Int(answer.head.status.code)
            if !(200...999).contains(status) { return "status \(status)" }
            guard let url = URL(string: "http://a.example/") else { continue }
            let head = ResponseHead(
                status: status,
                headers: HeaderFields(answer.head.headers),
                url: url,
                requested: url
            )
            if status == 204 || status == 304 {
                if !answer.body.isEmpty || answer.end != .inBytes { return "a body of a \(status)" }
            } else if let length = head.contentLength {
                if answer.body.count > length { return "\(answer.body.count) bytes of \(length)" }
                if (answer.end == .inBytes) != (answer.body.count == length) {
                    return "\(answer.body.count) of \(length) bytes"
                }
                if answer.end == .withConnection { return "the connection's end in place of a length" }
            } else if answer.end == .inBytes, !head.isFramed {
                return "an end that nothing says"
            } else if answer.end == .withConnection, head.isFramed {
                return "the connection's end in place of the last chunk"
            }
        }
        guard let answer = answers.first, let raw = RawHead(first), !["204", "304"].contains(raw.status) else {
            return nil
        }
        return raw.wrong(answer)
    }

    /// Returns a description of a violated rule: the rest of a broken-off answer is the end of its body.
    private func wrong(_ broken: BrokenOffAnswer) -> String? {
        guard let body = answers.last?.body, broken.offset <= body.count else { return "a rest of nothing" }
        func rest(after count: Int64) -> [UInt8] { broken.bytes(after: count).flatMap { Array($0.readableBytesView) } }
        if rest(after: broken.offset) != Array(body.dropFirst(Int(broken.offset))) { return "a rest of other bytes" }
        if broken.offset > 0, !rest(after: broken.offset - 1).isEmpty { return "a rest behind a gap" }
        return rest(after: Int64(body.count)).isEmpty ? nil : "a rest beyond the body"
    }

    private final class Listener: ChannelInboundHandler {
        typealias InboundIn = HTTPClientResponsePart
        var heard = Heard()
        var isClosing = false

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            if !heard.failures.isEmpty { heard.contradiction = "something after a failure" }
            let isOpen = heard.answers.last.map { $0.end == nil } ?? false
            let last = heard.answers.count - 1
            switch unwrapInboundIn(data) {
            case .head(let head):
                if isOpen { heard.contradiction = "a head in an answer" }
                heard.answers.append(Answer(head: head))
            case .body(let bytes):
                guard isOpen else { return heard.contradiction = "a body without a head" }
                heard.answers[last].body += Array(bytes.readableBytesView)
            case .end:
                guard isOpen else { return heard.contradiction = "an end without a head" }
                heard.answers[last].end = isClosing ? .withConnection : .inBytes
            }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            let answer = error as? BrokenOffAnswer
            if let answer, let wrong = heard.wrong(answer) { heard.contradiction = wrong }
            let cause = answer?.cause ?? error
            heard.failures.append((cause as? TransportError)?.kind.rawValue ?? "\(type(of: cause))")
        }
    }
}

/// The head of an answer, parsed independently of the decoder for its statements on the body's end.
private struct RawHead {
    var status: String
    var codings: [String] = []
    var lengths: [String] = []

    /// - Returns: `nil` for an interim answer, or without a complete head.
    init?(_ bytes: ArraySlice<UInt8>) {
        var lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false).map { line in
            Array(line.reversed().drop { $0 == 0x0D }.reversed())
        }[...]
        lines = lines.drop(while: \.isEmpty)
        guard let first = lines.popFirst(), let end = lines.dropLast().firstIndex(where: \.isEmpty) else { return nil }
        let words = first.split(whereSeparator: { $0 == 0x20 || $0 == 0x09 })
        guard words.count > 1, words[1].first != UInt8(ascii: "1") else { return nil }
        status = String(decoding: words[1], as: UTF8.self)
        var fields: [[UInt8]] = []
        for (index, line) in lines[..<end].enumerated() {
            if line.first == 0x20 || line.first == 0x09 {
                if index > 0, !fields.isEmpty { fields[fields.count - 1] += [0x20] + line }
            } else {
                fields.append(line)
            }
        }
        for field in fields {
            guard let colon = field.firstIndex(of: UInt8(ascii: ":")) else { return nil }
            let members = field[(colon + 1)...].split(separator: UInt8(ascii: ",")).map(Self.text).filter {
                !$0.isEmpty
            }
            switch Self.text(field[..<colon]).lowercased() {
            case "transfer-encoding": codings += members.map { $0.lowercased() }
            case "content-length": lengths.append(contentsOf: members.isEmpty ? [""] : members)
            default: break
            }
        }
    }

    /// Returns a description of a violated rule: only some framings allow a body.
    func wrong(_ answer: Heard.Answer) -> String? {
        let length = ResponseHead(
            status: 200,
            headers: HeaderFields(answer.head.headers),
            url: URL(fileURLWithPath: "/"),
            requested: URL(fileURLWithPath: "/")
        ).contentLength
        switch codings {
        case ["chunked"]: return length == nil ? nil : "a length beside chunks"
        case [], ["identity"]:
            guard let first = lengths.first else { return length == nil ? nil : "a length that nobody said" }
            guard let number = Int64(first),
                lengths.allSatisfy({ $0.utf8.allSatisfy { (48...57).contains($0) } && Int64($0) == number })
            else { return "a body of length \(lengths)" }
            return length == number ? nil : "\(length.map { "\($0)" } ?? "no length") in place of \(number)"
        default: return "a body in the coding \(codings)"
        }
    }

    /// Removes blanks and control characters at either end.
    private static func text(_ bytes: ArraySlice<UInt8>) -> String {
        let front = bytes.drop { $0 <= 0x20 || $0 == 0x7F }
        let back = front.reversed().drop { $0 <= 0x20 || $0 == 0x7F }.reversed()
        return String(decoding: back, as: UTF8.self)
    }
}
