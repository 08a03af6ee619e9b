import NIOCore
import NIOHTTP1
import Testing

@testable import HaulCore
@testable import HaulKit

struct ReceivedHeadTests {
    private func read(_ text: String) throws -> ReceivedHead {
        try read(Array(text.utf8))
    }

    private func read(_ bytes: [UInt8]) throws -> ReceivedHead {
        var collector = HeadCollector()
        var buffer = ByteBuffer(bytes: bytes)
        return try #require(try collector.next(&buffer))
    }

    private func detail(of text: String) -> String? {
        do {
            let head = try read(text)
            if case .malformed(let detail) = head.framing { return detail }
            return nil
        } catch { return (error as? TransportError)?.detail }
    }

    @Test(arguments: [
        ("HTTP/1.1 200 OK", 200), ("HTTP/1.1 200", 200), ("HTTP/1.1 200 ", 200), ("HTTP/1.0 404 Not Found", 404),
        ("http/1.1  206\tPartial", 206), ("HTTP/1.9 999 Odd", 999), ("HTTP/1.1 100 Continue", 100),
        ("\r\n\n\r\nHTTP/1.1 200 OK", 200),
    ])
    func readsAStatusLine(_ line: String, _ status: Int) throws {
        #expect(try read(line + "\r\n\r\n").status == status)
    }

    @Test(arguments: ["000", "001", "042", "099"])
    func refusesAStatusBelow100(_ status: String) {
        #expect(detail(of: "HTTP/1.1 \(status) X\r\nContent-Length: 2\r\n\r\n") == "a status below 100")
    }

    @Test(arguments: [
        "HTTP/1.1 101 Switching\r\n\r\n", "HTTP/2 200 OK\r\n\r\n", "HTTP/2.0 200 OK\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n", "HTTP/1.1 -20 OK\r\n\r\n", "HTTP/1.1 +20 OK\r\n\r\n", "HTTP/1.1200 OK\r\n\r\n",
        "HTTP/1.1 ２００ OK\r\n\r\n", "ICY 200 OK\r\n\r\n", "HTTP/1.1\r\n\r\n", "HTTP/1.x 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "HTTP/1.1 200 OK\r\n: x\r\n\r\n", "HTTP/1.1 200 OK\r\nX: \0\r\n\r\n",
    ])
    func refusesWhatIsNoHead(_ text: String) {
        #expect(detail(of: text) != nil)
    }

    @Test(arguments: [
        ("X: a \t ", "a"), ("X:a", "a"), ("X:\t a\u{1}", "a"), ("X: a\u{1}b", "a b"), ("X: a\r\n b", "a b"),
        ("X: a\r\n\t \tb\r\n c ", "a b c"), ("X : a", "a"), ("X: a\rb", "a b"), ("X:", ""), ("X: a\nY: c", "a"),
        ("X: a\r\r", "a"),
    ])
    func takesAValueAsOtherClientsDo(_ field: String, _ value: String) throws {
        #expect(try read("HTTP/1.1 200 OK\r\n\(field)\r\n\r\n").headers["X"] == [value])
    }

    @Test func passesOverALineThatIsFoldedOntoNothing() throws {
        let head = try read("HTTP/1.1 200 OK\r\n X: a\r\nY: b\r\n\r\n")
        #expect(head.headers["X"].isEmpty && head.headers["Y"] == ["b"])
    }

    @Test func passesOverANameThatIsNone() throws {
        let head = try read("HTTP/1.1 200 OK\r\nX Y: a\r\n folded\r\nContent-Length: 3\r\n\r\n")
        #expect(head.headers.count == 1 && head.framing == .length(3))
    }

    @Test func readsANameInWindows1252WhereItIsNoUTF8() throws {
        let start = Array("HTTP/1.1 200 OK\r\nContent-Disposition: attachment; filename=\"caf".utf8)
        #expect(
            try read(start + [0xE9, 0x80] + Array("\"\r\n\r\n".utf8)).headers.first(name: "Content-Disposition")
                == "attachment; filename=\"café€\""
        )
        #expect(
            try read(start + Array("é\"\r\n\r\n".utf8)).headers.first(name: "Content-Disposition")
                == "attachment; filename=\"café\""
        )
    }

    @Test func keepsTheBytesOfALocation() throws {
        let start = Array("HTTP/1.1 302 Found\r\nLocation: /caf".utf8)
        let head = try read(start + [0xE9] + Array(".zip\r\n\r\n".utf8))
        #expect(head.headers.first(name: "Location") == "/caf%E9.zip")
    }

    @Test func takesATagThatIsNotVerbatimForAWeakOne() throws {
        let start = Array("HTTP/1.1 200 OK\r\nETag: \"v".utf8)
        for odd: [UInt8] in [[0xE9], [0x01], [0x7F]] {
            let tag = try read(start + odd + Array("\"\r\n\r\n".utf8)).headers.first(name: "ETag")
            #expect(tag.map { EntityTag($0).isWeak } == true)
        }
    }

    @Test(arguments: [("X-Long", 66_000, 1), ("X-Many", 1, 257), ("X-Both", 30_000, 3)])
    func refusesMoreHeaderThanAllowed(_ name: String, _ length: Int, _ count: Int) {
        let fields = (0..<count).map { "\(name)-\($0): \(String(repeating: "x", count: length))\r\n" }.joined()
        #expect(detail(of: "HTTP/1.1 200 OK\r\n\(fields)\r\n") == "more header than allowed")
    }

    @Test func seesAtOnceThatItIsNoHTTP() {
        var collector = HeadCollector()
        var buffer = ByteBuffer(string: "SSH-")
        #expect(throws: TransportError.self) { try collector.next(&buffer) }
    }

    @Test func putsAHeadTogetherFromSingleBytesAndLeavesTheRest() throws {
        let text = "\r\nHTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 2\r\n\r\nhi"
        for step in 1...text.utf8.count {
            var collector = HeadCollector()
            var bytes = Array(text.utf8)[...]
            var head: ReceivedHead?
            var rest = ByteBuffer()
            while head == nil, !bytes.isEmpty {
                rest = ByteBuffer(bytes: bytes.prefix(step))
                bytes = bytes.dropFirst(step)
                head = try collector.next(&rest)
            }
            #expect(head?.headers["X"] == ["a b"] && head?.framing == .length(2))
            #expect(Array(rest.readableBytesView) + bytes == Array("hi".utf8))
        }
    }

    @Test func neverTrapsOnHostileHeads() {
        let alphabet = [
            "HTTP/1.1 ", "200", "000", " OK", "\r\n", "\n", "\r", "\r\n\r\n", ":", " ", "\t", "\0", "X", "é", "chunked",
            "Transfer-Encoding:", "Content-Length:", "5", ",", "99999999999999999999",
        ]
        var read = 0
        for text in HostileStrings(of: alphabet, count: 6000, upTo: 14, seed: 7) {
            var collector = HeadCollector()
            var buffer = ByteBuffer(string: "HTTP/1.1 200 OK\r\n" + text + "\r\n\r\n")
            guard let head = try? collector.next(&buffer) else { continue }
            read += 1
            #expect(head.status >= 100 && head.headers["Content-Length"].count <= 1 || head.framing != .length(5))
        }
        #expect(read > 1000)
    }
}
