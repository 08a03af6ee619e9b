internal import NIOHTTP1

/// The head of a response as received, parsed as leniently as RFC 9112 asks of a client and no further.
///
/// Accepts what other clients accept: blanks around values, folded lines, lines that end with a bare LF, control
/// characters within values. Refuses a head that leaves the answer's meaning or its end in doubt.
struct ReceivedHead: Sendable, Equatable {
    var version: HTTPVersion
    var status: Int
    var headers: HTTPHeaders
    var framing: BodyFraming

    /// Limits of a head. A larger head is an attack or an accident.
    static let mostFields = 256
    static let mostBytes = 64 * 1024

    /// Whether this is an interim response, before the final one (RFC 9110 §15.2).
    var isInterim: Bool { status < 200 }
    /// Whether the status rules out a body, whatever the fields say (RFC 9112 §6.3).
    var hasNoBody: Bool { status == 204 || status == 304 }

    /// - Parameter bytes: the head from the status line to the empty line.
    init(_ bytes: UnsafeBufferPointer<UInt8>) throws(TransportError) {
        var lines = HeadLines(bytes)
        guard let first = lines.next() else { throw Self.malformed("no status line") }
        (version, status) = try Self.statusLine(first)
        headers = try Self.fields(&lines)
        framing = BodyFraming(HeaderFields(headers))
        normaliseFraming()
    }

    /// Keeps only the field that frames the body, with a single value.
    private mutating func normaliseFraming() {
        let isContradictory = headers.contains(name: "Transfer-Encoding") && headers.contains(name: "Content-Length")
        switch framing {
        case .length(let length):
            // Nearly always nothing has to change, and a change copies all fields.
            if !isContradictory, headers["Content-Length"] == ["\(length)"] { break }
            headers.remove(name: "Transfer-Encoding")
            headers.replaceOrAdd(name: "Content-Length", value: "\(length)")
        case .chunked:
            headers.remove(name: "Content-Length")
            headers.replaceOrAdd(name: "Transfer-Encoding", value: "chunked")
            // Nothing that follows on such a connection is reliable (RFC 9112 §6.1).
            if isContradictory || version == .http1_0 { headers.replaceOrAdd(name: "Connection", value: "close") }
        case .untilClose:
            headers.remove(name: "Transfer-Encoding")
            headers.remove(name: "Content-Length")
        case .malformed: break
        }
    }

    // MARK: Status line

    /// Whether the bytes so far can still become a status line.
    static func canBegin(with bytes: some Sequence<UInt8>) -> Bool {
        zip(bytes, protocolName).allSatisfy { $0 & 0xDF == $1 & 0xDF }
    }

    private static let protocolName = Array("HTTP/".utf8)

    private static func statusLine(
        _ line: Slice<UnsafeBufferPointer<UInt8>>
    ) throws(TransportError) -> (HTTPVersion, Int) {
        guard line.count > 8, canBegin(with: line.prefix(5)) else { throw malformed("it does not begin as HTTP does") }
        var rest = line.dropFirst(5)
        let (major, dot, minor) = (rest.removeFirst(), rest.removeFirst(), rest.removeFirst())
        guard major == UInt8(ascii: "1"), dot == UInt8(ascii: "."), (48...57).contains(minor), let blank = rest.first,
            isBlank(blank)
        else { throw malformed("another version of HTTP than 1") }
        rest = rest.drop(while: isBlank)
        let digits = rest.prefix { !isBlank($0) }
        guard digits.count == 3, digits.allSatisfy({ (48...57).contains($0) }) else {
            throw malformed("a status that is no number of three digits")
        }
        let status = digits.reduce(0) { $0 * 10 + Int($1 - 48) }
        guard status >= 100 else { throw malformed("a status below 100") }
        guard status != 101 else { throw malformed("it switches to another protocol unasked") }
        return (minor == 48 ? .http1_0 : .http1_1, status)
    }

    // MARK: Fields

    private static func fields(_ lines: inout HeadLines) throws(TransportError) -> HTTPHeaders {
        var fields: [(String, String)] = []
        fields.reserveCapacity(16)
        var name = ""
        var value: [UInt8] = []
        var bytes = 0
        var isFirst = true

        func add() {
            if !name.isEmpty { fields.append((name, text(value, of: name))) }
        }

        while let line = lines.next() {
            defer { isFirst = false }
            if let first = line.first, isBlank(first) {
                // A folded line before the first field has no meaning (RFC 9112 §2.2). A later one continues the value
                // (§5.2).
                if !isFirst {
                    value.append(0x20)
                    value += trimmed(line)
                    bytes += line.count
                }
            } else {
                add()
                guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex else {
                    throw malformed("a header line without a name")
                }
                // Removes a blank before the colon (RFC 9112 §5.1). Skips a field with any other invalid name.
                let text = trimmed(line[..<colon])
                name = text.allSatisfy(isNameCharacter) ? String(decoding: text, as: UTF8.self) : ""
                value = Array(trimmed(line[(colon + 1)...]))
                bytes += text.count + value.count
                guard fields.count < mostFields else { throw tooLong }
            }
            guard bytes <= mostBytes else { throw tooLong }
            guard !line.contains(0) else { throw malformed("a NUL in a header line") }
        }
        add()
        guard fields.count <= mostFields else { throw tooLong }
        return HTTPHeaders(fields)
    }

    private static func text(_ value: [UInt8], of name: String) -> String {
        let isPlain = value.allSatisfy { $0 == 0x09 || (0x20..<0x7F).contains($0) }
        if isPlain { return String(decoding: value, as: UTF8.self) }
        let value = value.map { $0 != 0x09 && isEmpty($0) ? 0x20 : $0 }
        // An entity tag or a cookie in another encoding could not be sent back unchanged. U+FFFD makes its value
        // invalid.
        let comesBack = ["etag", "set-cookie"].contains(name.lowercased())
        return String(decoding: comesBack ? value : FieldText.utf8(value, of: name.utf8) ?? value, as: UTF8.self)
    }

    /// Removes blanks and control characters at either end (RFC 9110 §5.5).
    private static func trimmed(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> Slice<UnsafeBufferPointer<UInt8>> {
        let front = bytes.drop(while: isEmpty)
        return front.lastIndex { !isEmpty($0) }.map { front[...$0] } ?? front.prefix(0)
    }

    private static func isEmpty(_ byte: UInt8) -> Bool { byte <= 0x20 || byte == 0x7F }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    /// Whether the byte may be in a field name (RFC 9110 §5.6.2).
    private static func isNameCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x5E...0x7A, 0x7C, 0x7E, 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E: true
        default: false
        }
    }

    static let tooLong = malformed("more header than allowed")

    static func malformed(_ detail: String) -> TransportError { TransportError(.malformedResponse, detail) }
}

/// The lines of a head, without their ends. Skips empty lines before the first line (RFC 9112 §2.2).
private struct HeadLines {
    private var rest: Slice<UnsafeBufferPointer<UInt8>>
    private var hasBegun = false

    init(_ bytes: UnsafeBufferPointer<UInt8>) { rest = bytes[...] }

    mutating func next() -> Slice<UnsafeBufferPointer<UInt8>>? {
        while let end = rest.firstIndex(of: 0x0A) {
            var line = rest[..<end]
            rest = rest[(end + 1)...]
            while line.last == 0x0D { line.removeLast() }
            if !line.isEmpty {
                hasBegun = true
                return line
            }
            if hasBegun { return nil }
        }
        return nil
    }
}
