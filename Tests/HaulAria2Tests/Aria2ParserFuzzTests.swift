import Foundation
import NIOCore
import Testing

@testable import HaulAria2
@testable import HaulServer

/// Mutates texts at random: the parsers read or refuse each. `HAUL_FUZZ_INPUTS` sets the number of texts.
@Suite("Random input to the parsers of aria2's RPC") struct Aria2ParserFuzzTests {
    private static let inputs = ProcessInfo.processInfo.environment["HAUL_FUZZ_INPUTS"].flatMap { Int($0) } ?? 10_000

    /// Generates the same numbers in every run.
    private struct Numbers: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
            return mixed ^ mixed >> 31
        }
    }

    private func changed(_ seed: [UInt8], _ marks: [[UInt8]], _ numbers: inout Numbers) -> [UInt8] {
        var bytes = seed
        for _ in 0..<Int.random(in: 1...6, using: &numbers) {
            let place = Int.random(in: 0...bytes.count, using: &numbers)
            switch Int.random(in: 0..<5, using: &numbers) {
            case 0: bytes.insert(UInt8.random(in: 0...255, using: &numbers), at: place)
            case 1 where place < bytes.count: bytes.remove(at: place)
            case 2 where place < bytes.count: bytes[place] = UInt8.random(in: 0...255, using: &numbers)
            case 3: bytes.insert(contentsOf: marks.randomElement(using: &numbers) ?? [], at: place)
            default: bytes.removeSubrange(place..<min(bytes.count, place + Int.random(in: 0...20, using: &numbers)))
            }
        }
        return bytes
    }

    @Test("JSON is read or refused, and what is read can be written and read again")
    func json() {
        let seed = Array(
            #"[{"jsonrpc":"2.0","id":-1.5e3,"method":"aria2.addUri","params":["token:é",["http:\/\/a"],{"split":8,"x":null}]}]"#
                .utf8
        )
        let marks = ["[", "{", "}", "\"", "\\u", "\\ud83d\\ude00", "true", "-", "1e999", ",", ":", "\\"].map {
            Array($0.utf8)
        }
        var numbers = Numbers(state: 1)
        for _ in 0..<Self.inputs {
            let input = changed(seed, marks, &numbers)
            guard let value = Aria2JSONReader.value(of: input) else { continue }
            var buffer = ByteBuffer()
            buffer.writeJSON(value)
            #expect(Aria2JSONReader.value(of: Array(buffer.readableBytesView)) != nil, "\(input)")
        }
    }

    @Test("XML is read or refused")
    func xml() {
        let seed = Array(
            """
            <?xml version="1.0"?><methodCall><methodName>system.multicall</methodName><params><param><value><array><data><value>\
            <struct><member><name>a</name><value><int>1</int></value></member></struct></value><value>t&amp;x</value></data>\
            </array></value></param></params></methodCall>
            """.utf8
        )
        let marks = [
            "<", ">", "/>", "</value>", "<value>", "&", ";", "&#x41;", "<!--", "-->", "<![CDATA[", "]]>", "<!", "<?",
            "\"",
        ].map {
            Array($0.utf8)
        }
        var numbers = Numbers(state: 2)
        for _ in 0..<Self.inputs {
            do { _ = try Aria2XMLReader.call(changed(seed, marks, &numbers)) } catch { continue }
        }
    }
}
