import NIOCore
import Testing

@testable import HaulCore
@testable import HaulKit

struct ChunkedDecoderTests {
    /// Returns the decoded body and the bytes that follow it. The body is `nil` if its end did not come.
    private func decode(_ text: String, step: Int = .max) throws -> (body: String?, rest: String) {
        var decoder = ChunkedDecoder()
        var bytes = Array(text.utf8)[...]
        var body = ByteBuffer()
        while !bytes.isEmpty {
            var buffer = ByteBuffer(bytes: bytes.prefix(step))
            bytes = bytes.dropFirst(step)
            while let part = try decoder.next(&buffer) {
                guard case .data(var data) = part else {
                    return (String(buffer: body), String(buffer: buffer) + String(decoding: bytes, as: UTF8.self))
                }
                body.writeBuffer(&data)
            }
        }
        return (nil, "")
    }

    @Test(arguments: [
        "5\r\nhello\r\n0\r\n\r\n", "5\nhello\n0\n\n", "05  \r\nhello\r\n000\r\n\r\n",
        "5;a=b;c=\"d\"\r\nhello\r\n0;x\r\n\r\n",
        "2\r\nhe\r\n3\r\nllo\r\n0\r\nTrailer: \u{1}\r\nbad\r\n folded\r\n\r\n", "5\t;x\r\nhello\r\n0\r\n\r\n",
    ])
    func takesTheCodingOff(_ text: String) throws {
        for step in 1...text.utf8.count {
            let (body, rest) = try decode(text + "next", step: step)
            #expect(body == "hello" && rest == "next")
        }
    }

    @Test(arguments: [
        "", "5", "5\r\n", "5\r\nhell", "5\r\nhello", "5\r\nhello\r\n", "5\r\nhello\r\n0\r\n", "0\r\nX: y\r\n",
    ])
    func waitsForTheEnd(_ text: String) throws {
        #expect(try decode(text).body == nil)
    }

    @Test(arguments: [
        "\r\n", " 5\r\nhello\r\n", "-5\r\n", "zz\r\n", "5 5\r\n", "5\r\nhello world\r\n", "5\r\nhello\r\r\n", ";x\r\n",
        "8000000000000000\r\n", "FFFFFFFFFFFFFFFFFF\r\n", "0x5\r\n", "5\r\nhelloX\n",
    ])
    func refusesWhatIsNoChunk(_ text: String) {
        #expect(throws: TransportError.self) { try decode(text) }
    }

    @Test func refusesEndlessExtensionsAndTrailers() {
        let endless = String(repeating: "x", count: 100_000)
        #expect(throws: TransportError.self) { try decode("5;" + endless) }
        #expect(throws: TransportError.self) { try decode("0\r\n" + endless) }
        #expect(throws: TransportError.self) { try decode(String(repeating: "0", count: 100_000)) }
    }

    @Test func neverTrapsOnHostileChunks() {
        let alphabet = ["0", "5", "F", "f", "\r\n", "\n", "\r", ";", " ", "hello", "7FFFFFFFFFFFFFFF", "\0", "é", "-"]
        var read = 0
        for text in HostileStrings(of: alphabet, count: 6000, upTo: 12, seed: 5) {
            let whole = try? decode(text)
            // The sizes of the received pieces make no difference.
            #expect(
                (try? decode(text, step: 1)).map { [$0.body, $0.rest] } == whole.map { [$0.body, $0.rest] },
                "\(text)"
            )
            if whole?.body != nil { read += 1 }
        }
        #expect(read > 5)
    }
}
