import Testing

@testable import HaulCore
@testable import HaulDesktop
@testable import HaulKit

struct DBusMessageTests {
    private static let values: [DBusValue] = [
        .byte(7), .boolean(true), .int16(-2), .uint16(3), .int32(-4), .uint32(5), .int64(-6), .uint64(7), .double(0.5),
        .string("häul"), .objectPath("/a/b"), .signature("a{sv}"), .variant(.variant(.int64(1))),
        .array(of: .uint64, []), .array(of: .string, [.string("a"), .string("")]),
        .array(of: .entry(.string, .variant), [.entry(.string("k"), .variant(.byte(1)))]),
        .structure([.byte(1), .structure([.uint64(2)])]), .descriptor(0),
    ]
    private static let message = DBusMessage(
        kind: .call,
        serial: 9,
        path: "/a",
        interface: "b.c",
        member: "D",
        destination: "e.f",
        sender: ":1.2",
        body: values
    )

    @Test func whatIsWrittenIsReadBack() throws {
        let bytes = try Self.message.encoded()
        #expect(try DBusMessage.length(Array(bytes.prefix(16))) == bytes.count)
        #expect(try DBusMessage(bytes) == Self.message)
    }

    /// Encodes `Hello` in the layout of the specification: a fixed part, then fields at multiples of eight bytes.
    @Test func writesExactlyWhatTheProtocolSays() throws {
        var message = DBusMessage.toBus("Hello")
        message.serial = 1
        let bytes = try message.encoded()
        #expect(Array(bytes.prefix(16)) == [0x6c, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0x6d, 0, 0, 0])
        #expect(Array(bytes[16..<24]) == [1, 1, 0x6f, 0, 21, 0, 0, 0])
        #expect(bytes.count == 128)
    }

    @Test func readsBigEndianToo() throws {
        // A reply to serial 2 whose body is the UINT32 5.
        let bytes: [UInt8] =
            [0x42, 2, 0, 1, 0, 0, 0, 4, 0, 0, 0, 8, 0, 0, 0, 15]
            + [5, 1, 0x75, 0, 0, 0, 0, 2, 8, 1, 0x67, 0, 1, 0x75, 0, 0] + [0, 0, 0, 5]
        let message = try DBusMessage(bytes)
        #expect(message.replySerial == 2)
        #expect(message.serial == 8)
        #expect(message.body == [.uint32(5)])
    }

    @Test func kindsOfLaterVersionsAreReadToBeIgnored() throws {
        var bytes = try Self.message.encoded()
        bytes[1] = 77
        #expect(try DBusMessage(bytes).kind == nil)
        bytes[1] = 0
        #expect(throws: DBusError.malformed) { try DBusMessage(bytes) }
    }

    @Test func refusesToSendWhatABusWouldHangUpOn() {
        var message = Self.message
        for value: DBusValue in [
            .string("a\0b"), .objectPath("a"), .objectPath("/a\0"), .signature("("), .array(of: .byte, [.string("")]),
            .variant(.entry(.byte(1), .byte(1))), .structure([]), .entry(.byte(1), .byte(2)),
            .string(String(repeating: "x", count: DBusMessage.mostBytes)),
        ] {
            message.body = [value]
            #expect(throws: DBusError.malformed, "\(value.type)") { try message.encoded() }
        }
        message.body = []
        message.path = nil
        #expect(throws: DBusError.malformed) { try message.encoded() }
    }

    @Test func lengthsBeyondTheLimitAreRefusedBeforeAnythingIsKept() throws {
        for (offset, value) in [(4, UInt32.max), (12, .max), (4, 1 << 18), (12, 1 << 27), (12, 1 << 18)] {
            var bytes = try Self.message.encoded()
            bytes.replaceSubrange(offset..<offset + 4, with: withUnsafeBytes(of: value.littleEndian) { Array($0) })
            #expect(throws: DBusError.malformed) { try DBusMessage.length(Array(bytes.prefix(16))) }
        }
    }

    @Test func isNeverReadFromLessThanAll() throws {
        let bytes = try Self.message.encoded()
        for count in 0..<bytes.count {
            #expect(throws: DBusError.malformed) { try DBusMessage(Array(bytes.prefix(count))) }
        }
        #expect(throws: DBusError.malformed) { try DBusMessage(bytes + [0]) }
    }

    @Test(
        arguments: [
            // An array that claims more bytes than there are, an array that ends inside an element, and a truncated
            // array.
            ("as", [200, 0, 0, 0, 0, 0, 0, 0]), ("au", [3, 0, 0, 0, 1, 0, 0, 0]), ("ay", [0xff, 0xff, 0xff, 0xff]),
            // A boolean of 2, a string without an end, a string with a NUL, and a string that is not UTF-8.
            ("b", [2, 0, 0, 0]), ("s", [1, 0, 0, 0, 0x61, 0x62]), ("s", [1, 0, 0, 0, 0, 0]),
            ("s", [1, 0, 0, 0, 0xff, 0]),
            // Padding that is not zero.
            ("yu", [1, 1, 0, 0, 1, 0, 0, 0]),
            // Variants of no type, of two types, and of an invalid type.
            ("v", [0, 0]), ("v", [2, 0x79, 0x79, 0, 1, 1]), ("v", [1, 0x28, 0, 1]),
            ("o", [1, 0, 0, 0, 0x61, 0]), ("g", [1, 0x28, 0]), ("t", [1, 2, 3, 4]), ("y", []), ("y", [1, 2]),
        ] as [(String, [UInt8])]
    )
    func refusesABodyThatIsNotWhatItsSignatureSays(signature: String, body: [UInt8]) throws {
        #expect(throws: DBusError.malformed) {
            var reader = DBusReader(body, isLittleEndian: true)
            _ = try reader.values(try DBusType.read(signature.utf8))
            if !reader.isAtEnd { throw DBusError.malformed }
        }
    }

    @Test func refusesVariantsWithinOneAnotherWithoutEnd() {
        let depths = [64: true, 65: false, 10_000: false]
        for (depth, isFine) in depths {
            var bytes: [UInt8] = []
            for _ in 1..<depth { bytes += [1, 0x76, 0] }
            bytes += [1, 0x79, 0, 5]
            var reader = DBusReader(bytes, isLittleEndian: true)
            #expect(((try? reader.value(.variant)) != nil) == isFine, "\(depth)")
        }
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func randomBytesAreSurvived(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let whole = try Self.message.encoded()
        var read = 0
        for _ in 0..<500 {
            var bytes = whole
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: .min ... .max, using: &random)
            }
            // A changed message may be refused or read as another message. If it is read, it must be a valid message.
            guard let message = try? DBusMessage(bytes), message.kind != nil else { continue }
            read += 1
            let written = try message.encoded()
            #expect(try DBusMessage(written).encoded() == written)
        }
        #expect(read > 5)
    }
}
