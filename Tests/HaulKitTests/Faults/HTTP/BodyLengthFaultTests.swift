import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Lines 5 and 6 of `docs/practice-list.md`: bodies that are too long, too short or of unknown length.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct BodyLengthFaultTests {
    private let content = TestContent.first

    private static func head(_ fields: (String, String)...) -> TestStep {
        .head(status: 200, reason: "OK", headers: fields)
    }

    @Test func fetchesTheRestWhenTheConnectionEndsBeforeTheAnnouncedLength() async throws {
        let resource = content.resource()
        let broken = resource.breaking(after: cut)
        try await DownloaderRig.run(serving: { $0.range == nil ? broken.reply(to: $0) : resource.reply(to: $0) }) {
            rig in
            let done = try await rig.download()
            #expect(done.proof == .length)
            #expect(try rig.holdsOnly(content))
            #expect(rig.server.requests.last?.range != nil)
        }
    }

    @Test func takesNoMoreThanTheAnnouncedLength() async throws {
        let content = content
        let long = TestReply([
            Self.head(("Content-Length", "400000"), ("ETag", "\"v1\"")), .body(0..<450_000, of: content),
        ])
        try await DownloaderRig.run(serving: { _ in long }) { rig async throws in
            #expect(try await rig.download().bytes == 400_000)
            #expect(try rig.holdsOnly(content))
            #expect(rig.server.requests.count == 1)
        }
    }

    @Test func distrustsAConnectionThatSentTooMuch() async throws {
        let resource = content.resource()
        // The bytes after the body look like an answer to the next request.
        let planted = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nEVIL"
        try await DownloaderRig.run(serving: { request in
            var reply = resource.reply(to: request)
            if request.requestNumber == 1 { reply.steps.append(.raw(Array(planted.utf8))) }
            return reply
        }) { rig in
            try await rig.download()
            try await rig.download("/again.bin") { $0.destination = .file(path: rig.folder + "/again.bin") }
            #expect(try content.matches(fileAt: rig.path))
            #expect(try content.matches(fileAt: rig.folder + "/again.bin"))
        }
    }

    @Test func loadsAnEmptyFile() async throws {
        let nothing = TestContent(seed: 1, count: 0)
        try await DownloaderRig.run(serving: nothing.resource()) { rig async throws in
            #expect(try await rig.download().bytes == 0)
            #expect(try rig.holdsOnly(nothing))
            #expect(rig.server.requests.count == 1)
        }
    }

    @Test(arguments: [0, 1, 65_536, 400_000])
    func loadsAFileInTheChunkedCoding(_ count: Int64) async throws {
        let content = TestContent(seed: 1, count: count)
        try await DownloaderRig.run(serving: { _ in .chunked(content) }) { rig in
            let done = try await rig.download()
            #expect(done.bytes == count)
            #expect(done.proof == .length)
            #expect(try rig.holdsOnly(content))
        }
    }

    @Test func doesNotCompleteAFileWhoseLastChunkIsMissing() async throws {
        try await DownloaderRig.run(serving: { _ in .chunked(.first, terminated: false) }) { rig async throws in
            #expect(try await rig.failure().code == .connectionLost)
            #expect(try !rig.names().contains("file.bin"))
            #expect(rig.server.requests.count > 1)
        }
    }

    @Test func resumesAChunkedFileThatBrokeOff() async throws {
        let resource = content.resource()
        let content = content
        let handler: DownloaderRig.Handler = { request in
            guard request.requestNumber == 1 else { return resource.reply(to: request) }
            let head = Self.head(("Transfer-Encoding", "chunked"), ("ETag", "\"v1\""))
            return TestReply([head, .chunked(0..<cut, of: content, terminated: false), .stall])
        }
        try await DownloaderRig.run(serving: handler) { rig in
            try await rig.interrupted()
            #expect(try rig.holdsOnly(content))
            #expect(rig.ranges == [nil, "bytes=\(cut)-"])
        }
    }

    @Test func loadsAFileThatEndsWithItsConnectionAndSaysThatNothingProvesIt() async throws {
        let content = content
        try await DownloaderRig.run(serving: { _ in .untilClose(content) }) { rig in
            let done = try await rig.download()
            #expect(done.bytes == content.count)
            #expect(done.proof == .none)
            #expect(try rig.holdsOnly(content))
            #expect(rig.server.requests.count == 1)
        }
    }

    @Test func doesNotTakeAResetForTheEndOfAFile() async throws {
        try await DownloaderRig.run(serving: { _ in .untilClose(.first, ending: .reset) }) { rig async throws in
            #expect(try await rig.failure().code == .connectionLost)
            #expect(try !rig.names().contains("file.bin"))
        }
    }

    @Test(arguments: ["-1", "+400000", "abc", "400000, 5", "99999999999999999999999", "0x61A80", "4e5", ""])
    func refusesAContentLengthThatIsNone(_ length: String) async throws {
        let content = content
        let odd = TestReply([Self.head(("Content-Length", length)), .body(0..<content.count, of: content), .close])
        try await DownloaderRig.run(serving: { _ in odd }) { rig async throws in
            #expect(try await rig.failure().code == .malformedResponse)
            #expect(try rig.names().isEmpty)
        }
    }

    @Test func refusesTwoContentLengthsThatDisagree() async throws {
        let content = content
        let head = Self.head(("Content-Length", "400000"), ("Content-Length", "399999"))
        let odd = TestReply([head, .body(0..<content.count, of: content), .close])
        try await DownloaderRig.run(serving: { _ in odd }) { rig async throws in
            #expect(try await rig.failure().code == .malformedResponse)
            #expect(try rig.names().isEmpty)
        }
    }

    @Test(arguments: ["zz\r\n", "-5\r\nhello\r\n", "FFFFFFFFFFFFFFFFFF\r\n", "5\r\nhello world\r\n0\r\n\r\n"])
    func refusesChunksThatAreNone(_ chunks: String) async throws {
        let odd = TestReply([Self.head(("Transfer-Encoding", "chunked")), .raw(Array(chunks.utf8)), .close])
        try await DownloaderRig.run(serving: { _ in odd }) { rig async throws in
            #expect([.malformedResponse, .connectionLost].contains(try await rig.failure().code))
            #expect(try !rig.names().contains("file.bin"))
        }
    }
}
