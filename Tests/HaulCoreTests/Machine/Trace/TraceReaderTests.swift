import Foundation
import Testing

@testable import HaulCore

@Suite struct TraceReaderTests {
    private static let header = #"{"haulTrace":1,"version":"0.1.0"}"#
    private static let id = "01900000-0000-7000-8000-000000000001"

    private func line(_ value: TraceLine) throws -> String {
        String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
    }

    private func machine() throws -> TraceLine {
        let url = try #require(URL(string: "http://files.example/a.iso"))
        return TraceLine(
            id: try #require(DownloadID(Self.id)),
            machine: DownloadMachine(.init(request: DownloadRequest(url, to: .folder(path: "/"))), seed: .max).initial
        )
    }

    private func read(_ lines: String...) throws -> [TraceLine] {
        try TraceReader.lines(lines.map { $0 + "\n" }.joined().utf8)
    }

    @Test func readsWhatWasWritten() throws {
        let initial = try machine()
        let step = TraceLine(
            id: initial.id,
            step: .init(
                at: Instant(sinceStart: .milliseconds(1234)),
                event: .bytesLanded(.init(written: 500, synced: 0)),
                surroundings: .init(
                    connectionSlots: [Origin(try #require(URL(string: "http://a.example"))): 2],
                    isHeldBack: true
                ),
                actions: [
                    .report, .open(.init(number: 1), .whole), .startTimer(.init(number: 1), after: .seconds(1.5)),
                ]
            )
        )
        #expect(try read(Self.header, line(initial), line(step)) == [initial, step])
    }

    @Test func leavesOutALastLineThatIsNotWhole() throws {
        let text = try Self.header + "\n" + line(machine()) + "\n{\"id\":"
        #expect(try TraceReader.lines(text.utf8).count == 1)
        #expect(throws: TraceError(line: 1, reason: "it is not whole")) { try TraceReader.lines([]) }
    }

    @Test(arguments: [Int64(0), 1, -1, 999_999_999, -1_000_000_001, 123_456_789_000_000])
    func readsEveryInstantExactly(_ nanoseconds: Int64) throws {
        for instant in [Instant(sinceStart: .nanoseconds(nanoseconds)), Instant(sinceStart: .seconds(0.1) / 7)] {
            let bytes = try JSONEncoder().encode([instant])
            #expect(try JSONDecoder().decode([Instant].self, from: bytes) == [instant])
        }
    }

    @Test(arguments: ["", "-", "1.", "x", "1.2.3", "+1", "1e3", "99999999999999999999", "0.0000000000000000001"])
    func refusesWhatIsNoInstant(_ text: String) throws {
        let bytes = Data("[\"\(text)\"]".utf8)
        #expect(throws: DecodingError.self) { try JSONDecoder().decode([Instant].self, from: bytes) }
    }

    @Test(arguments: [
        ("", 1, "JSON"), (#"{"haulTrace":1"#, 1, "JSON"), (#"{"haulTrace":2,"version":"9"}"#, 1, "version 2"),
        ("{}", 1, "haulTrace"),
    ])
    func namesWhatIsWrongWithTheHeader(_ text: String, _ line: Int, _ reason: String) throws {
        let error = try #require(throws: TraceError.self) { try read(text) }
        #expect(error.line == line && "\(error)".contains(reason), "\(error)")
    }

    @Test(arguments: [
        (#"{"id":"\#(id)"}"#, "neither"), ("", "JSON"), ("[]", "Dictionary"),
        (#"{"id":"\#(id)","step":{"actions":[],"at":"1","event":{"cancelRequested":{}}}}"#, "machine of this download"),
        (#"{"id":"\#(id)","step":{"actions":[],"at":"1","event":{"unheardOf":{}}}}"#, "step.event"),
        (#"{"id":"\#(id)","step":{"actions":[],"at":"x","event":{"cancelRequested":{}}}}"#, "step.at"),
        (
            #"{"id":"\#(id)","step":{"actions":[],"at":"1","event":{"bytesLanded":{"_0":{"written":"9-1","synced":""}}}}}"#,
            "not ranges in order"
        ),
    ])
    func namesTheLineThatCannotBeRead(_ text: String, _ reason: String) throws {
        let error = try #require(throws: TraceError.self) { try read(Self.header, text) }
        #expect(error.line == 2 && "\(error)".contains(reason), "\(error)")
    }
}
