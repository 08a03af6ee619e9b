import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Answers that are barely HTTP or not HTTP. Each leads to an error or to the correct file, never to a trap.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct OddAnswerFaultTests {
    private let content = TestContent(seed: 1, count: 20_000)

    /// Returns the error of a download whose server always answers `reply`; `nil` if the download completes.
    @discardableResult
    private func failure(_ reply: TestReply) async throws -> DownloadError? {
        var failure: DownloadError?
        try await DownloaderRig.run(
            configure: {
                // None of these answers is a stall. On a busy machine a short timeout could take one for a stall.
                $0.connections.stallTimeout = .seconds(300)
                $0.connections.connectTimeout = .seconds(300)
            },
            serving: { _ in reply }
        ) { rig in
            do {
                try await rig.download()
                #expect(try rig.names() == ["file.bin"])
            } catch let error as DownloadError {
                failure = error
                #expect(try !rig.names().contains("file.bin"))
            }
        }
        return failure
    }

    @Test(arguments: [
        "SSH-2.0-OpenSSH_9.2p1 Debian\r\n", "220 ftp.example.org ready\r\n", "\u{0}\u{1}\u{2}\u{3}", "hello",
        "\r\n\r\n",
        "<html>No head at all.</html>", "HTTP", "HTTP/9.9 200 OK\r\n\r\n", "HTTP/1.1 abc OK\r\n\r\n",
        "HTTP/1.1 99999 Too Much\r\n\r\n", "HTTP/1.1 -200 OK\r\n\r\n", "ICY 200 OK\r\n\r\n", "GET / HTTP/1.1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nNo colon here\r\n\r\n", "HTTP/1.1 200 OK\r\n: no name\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX: a\u{0}b\r\nContent-Length: 2\r\n\r\nhi",
        "HTTP/1.1 200 OK\r\nContent-Length: 2", "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\nhello",
    ])
    func failsOnWhatIsNoHTTP(_ text: String) async throws {
        let error = try #require(try await failure(.raw(text)))
        #expect([.malformedResponse, .connectionLost, .refusedByServer].contains(error.code))
    }

    @Test func failsOnAnEmptyAnswer() async throws {
        #expect(try await failure(TestReply([.close]))?.code == .connectionLost)
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nX: folded\r\n value\r\nContent-Length: 2\r\n\r\nhi",
        "HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nhi",
        "HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", "HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nhi",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nhi",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Length: 2\r\n\r\nhi",
        "HTTP/1.1 200 OK\r\nETag: \"\u{FFFD}\u{E9}\"\r\nContent-Length: 2\r\n\r\nhi",
        "HTTP/1.1 200 OK\r\nETag: unquoted\r\nLast-Modified: yesterday\r\nDate: never\r\nContent-Length: 2\r\n\r\nhi",
        "HTTP/1.1 200 OK\r\nContent-Type:\r\nContent-Encoding:,,\r\nContent-Length: 2\r\n\r\nhi",
    ])
    func neverTrapsOnADoubtfulHead(_ text: String) async throws {
        try await DownloaderRig.run(serving: { _ in .raw(text) }) { rig in
            do {
                try await rig.download()
                #expect(try rig.text(at: rig.path) == "hi")
            } catch let error as DownloadError {
                #expect([.malformedResponse, .connectionLost].contains(error.code))
                #expect(try !rig.names().contains("file.bin"))
            }
        }
    }

    @Test(arguments: [("X-Long", 100_000, 1), ("X-Many", 1, 300), ("X-Both", 60_000, 2)])
    func refusesAnEnormousHead(_ name: String, _ length: Int, _ count: Int) async throws {
        let fields = (0..<count).map { ("\(name)-\($0)", String(repeating: "x", count: length)) }
        let head = TestStep.head(status: 200, reason: "OK", headers: fields + [("Content-Length", "20000")])
        let reply = TestReply([head, .body(0..<20_000, of: content)])
        #expect(try await failure(reply)?.code == .malformedResponse)
    }

    @Test func refusesAHeadThatNeverEnds() async throws {
        let start = Array("HTTP/1.1 200 OK\r\n".utf8)
        let field = Array("X-More: and more\r\n".utf8)
        let fields = Array(repeatElement(field, count: 50_000).joined())
        #expect(try await failure(TestReply([.raw(start), .raw(fields), .stall]))?.code == .malformedResponse)
    }

    @Test(arguments: [
        "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n",
        "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nContent-Length: 5\r\n\r\n",
    ])
    func waitsForTheAnswerAfterAnInterimOne(_ interim: String) async throws {
        let resource = content.resource()
        try await DownloaderRig.run(serving: { request in
            TestReply([.raw(Array(interim.utf8))] + resource.reply(to: request).steps)
        }) { rig in
            try await rig.download()
            #expect(try rig.holdsOnly(content))
        }
    }

    @Test func failsWhenTheServerSwitchesProtocols() async throws {
        let text = "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n\u{1}\u{2}"
        #expect(try await failure(.raw(text)) != nil)
    }

    @Test(arguments: [204, 205, 304, 300, 201, 202, 207, 226, 999])
    func takesNoOtherStatusForAFile(_ status: Int) async throws {
        #expect(try await failure(.empty(status, "Odd"))?.status == status)
    }

    @Test func loadsFromAServerOfHTTP1Dot0() async throws {
        let content = content
        let head = Array("HTTP/1.0 200 OK\r\nContent-Length: 20000\r\n\r\n".utf8)
        try await DownloaderRig.run(serving: { _ in TestReply([.raw(head), .body(0..<20_000, of: content), .close]) }) {
            rig async throws in
            #expect(try await rig.download().proof == .length)
            #expect(try rig.holdsOnly(content))
        }
    }

    @Test func loadsFromAServerOfHTTP1Dot0WithoutALength() async throws {
        let content = content
        let head = Array("HTTP/1.0 200 OK\r\n\r\n".utf8)
        try await DownloaderRig.run(serving: { _ in TestReply([.raw(head), .body(0..<20_000, of: content), .close]) }) {
            rig async throws in
            #expect(try await rig.download().proof == .none)
            #expect(try rig.holdsOnly(content))
        }
    }

    @Test func putsAHeadTogetherThatComesByteByByte() async throws {
        let text = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nETag: \"v1\"\r\n\r\nhi"
        let steps = text.utf8.flatMap { [TestStep.raw([$0]), .wait(.milliseconds(1))] }
        try await DownloaderRig.run(serving: { _ in TestReply(steps) }) { rig in
            try await rig.download()
            #expect(try rig.text(at: rig.path) == "hi")
        }
    }
}
