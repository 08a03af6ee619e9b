import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@testable import HaulServer

struct ConnectionRulesTests {
    private func connection(_ unheard: UnheardConnections = UnheardConnections(most: 2)) throws -> EmbeddedChannel {
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandler(HTTPResponseEncoder())
        try channel.pipeline.syncOperations.addHandler(ByteToMessageHandler(HTTPRequestDecoder()))
        try channel.pipeline.syncOperations.addHandler(ConnectionRules.Installer(unheard, openPaths: ["/", "/readyz"]))
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 80)).wait()
        return channel
    }

    private func send(_ text: String, to channel: EmbeddedChannel) throws {
        try channel.writeInbound(ByteBuffer(string: text.replacing("\n", with: "\r\n")))
    }

    private func head(_ channel: EmbeddedChannel) throws -> HTTPRequestHead? {
        while let part = try channel.readInbound(as: HTTPServerRequestPart.self) {
            if case .head(let head) = part { return head }
        }
        return nil
    }

    @Test func aConnectionThatSendsNoHeadIsClosed() throws {
        let channel = try connection()
        try send("GET / HTTP/1.1\nHost: localhost\n", to: channel)
        channel.embeddedEventLoop.advanceTime(by: .seconds(19))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .seconds(2))
        #expect(!channel.isActive)
    }

    @Test func oneThatSentAHeadStays() throws {
        let channel = try connection()
        try send("POST / HTTP/1.1\nHost: localhost\nContent-Length: 9\n\n", to: channel)
        channel.embeddedEventLoop.advanceTime(by: .seconds(60))
        #expect(channel.isActive)
        #expect(try head(channel)?.headers["Connection"] == [])
        try send("123456789", to: channel)
        _ = try channel.finish()
    }

    private func answer(_ status: HTTPResponseStatus, on channel: EmbeddedChannel) {
        let fields: HTTPHeaders = ["Content-Length": "0"]
        channel.write(
            HTTPServerResponsePart.head(.init(version: .http1_1, status: status, headers: fields)),
            promise: nil
        )
        channel.writeAndFlush(HTTPServerResponsePart.end(nil), promise: nil)
    }

    @Test func theOldestGivesWayWhereTooManySendNothing() throws {
        let unheard = UnheardConnections(most: 2)
        let talking = try connection(unheard)
        try send("GET /api/v1/daemon HTTP/1.1\nHost: localhost\n\n", to: talking)
        answer(.ok, on: talking)
        let silent = try (0..<10).map { _ in try connection(unheard) }
        #expect(talking.isActive)
        #expect(silent.map(\.isActive) == Array(repeating: false, count: 8) + [true, true])
        #expect(unheard.count == 2)
        for channel in silent.suffix(2) + [talking] { _ = try channel.finish() }
        #expect(unheard.count == 0)
    }

    /// Answers that everybody gets, and refusals, let nobody keep a place.
    @Test(arguments: [
        ("GET /readyz HTTP/1.1\nHost: localhost\n\n", HTTPResponseStatus.ok),
        ("GET /?x=/api/ HTTP/1.1\nHost: localhost\n\n", .ok),
        ("GET /api/v1/daemon HTTP/1.1\nHost: localhost\n\n", .unauthorized),
        ("GET / HTTP/1.1\nHost: evil.example\n\n", .misdirectedRequest),
        ("OPTIONS /api/v1/daemon HTTP/1.1\nHost: localhost\n\n", .noContent),
    ])
    func aConnectionWithoutASignInGivesWay(_ request: String, _ status: HTTPResponseStatus) throws {
        let unheard = UnheardConnections(most: 2)
        let stranger = try connection(unheard)
        try send(request, to: stranger)
        answer(status, on: stranger)
        #expect(stranger.isActive && unheard.count == 1)
        let others = try (0..<2).map { _ in try connection(unheard) }
        #expect(!stranger.isActive && others.allSatisfy(\.isActive))
        for channel in others { _ = try channel.finish() }
    }

    @Test func anUnfinishedBodyWithoutASignInGivesWay() throws {
        let unheard = UnheardConnections(most: 2)
        let stranger = try connection(unheard)
        try send("POST /api/v1/session HTTP/1.1\nHost: localhost\nContent-Length: 900\n\n{", to: stranger)
        let others = try (0..<2).map { _ in try connection(unheard) }
        #expect(!stranger.isActive)
        for channel in others { _ = try channel.finish() }
    }

    @Test func theOneThatHasBeenSilentLongestGivesWay() throws {
        let unheard = UnheardConnections(most: 2)
        let (first, second) = (try connection(unheard), try connection(unheard))
        try send("GET /readyz HTTP/1.1\nHost: localhost\n\n", to: first)
        let third = try connection(unheard)
        #expect(first.isActive && !second.isActive && third.isActive)
        for channel in [first, third] { _ = try channel.finish() }
    }

    @Test func headerFieldsThatAreTooLargeAreRefusedByTheirOwnStatus() throws {
        let channel = try connection()
        try send("GET / HTTP/1.1\nHost: localhost\nX: \(String(repeating: "x", count: 100_000))\n\n", to: channel)
        var answer = ""
        while let bytes = try channel.readOutbound(as: ByteBuffer.self) { answer += String(buffer: bytes) }
        #expect(answer.hasPrefix("HTTP/1.1 431 "))
        #expect(answer.contains("\r\nConnection: close\r\n") && answer.contains("headersTooLarge"))
        #expect(try head(channel) == nil)
        channel.embeddedEventLoop.advanceTime(by: .seconds(3))
        #expect(!channel.isActive)
    }

    @Test(arguments: [
        ("GET / HTTP/1.0\n\n", ["close"]), ("GET / HTTP/1.0\nConnection: keep-alive\n\n", ["keep-alive"]),
    ])
    func aConnectionOfHTTP10IsClosedUnlessItAsksToBeKept(_ text: String, _ field: [String]) throws {
        let channel = try connection()
        try send(text, to: channel)
        #expect(try head(channel)?.headers["Connection"] == field)
        _ = try channel.finish()
    }

    @Test func aClientThatWaitsForContinueGetsIt() throws {
        let channel = try connection()
        try send("POST / HTTP/1.1\nHost: localhost\nExpect: 100-continue\nContent-Length: 3\n\n", to: channel)
        let answer = try #require(try channel.readOutbound(as: ByteBuffer.self))
        #expect(String(buffer: answer) == "HTTP/1.1 100 Continue\r\n\r\n")
        try send("abc", to: channel)
        #expect(try head(channel)?.method == .POST)
        // A pipelined request gets its 100 (Continue) only after the answer to the request before.
        try send("POST / HTTP/1.1\nHost: localhost\nExpect: 100-continue\nContent-Length: 0\n\n", to: channel)
        #expect(try channel.readOutbound(as: ByteBuffer.self) == nil)
        self.answer(.ok, on: channel)
        var answers = ""
        while let bytes = try channel.readOutbound(as: ByteBuffer.self) { answers += String(buffer: bytes) }
        #expect(answers == "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n")
        _ = try channel.finish()
    }
}
