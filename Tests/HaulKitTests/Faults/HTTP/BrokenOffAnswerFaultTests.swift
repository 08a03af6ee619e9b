import Foundation
import HaulTesting
import NIOCore
import Synchronization
import Testing

@testable import HaulCore
@testable import HaulKit

/// Connections that the server closes while the receiver has yet to take what has arrived.
@Suite(.timeLimit(.minutes(60)))
struct BrokenOffAnswerFaultTests {
    private static let content = TestContent(seed: 5, count: 3_000_000)
    /// Number of bytes of an answer. The buffers of a socket hold them.
    private static let sent: Int64 = 1_000_000
    /// Time in which the receiver takes nothing. If it were too short, the tests would pass without testing much.
    private static let pause = Duration.milliseconds(300)

    private static func head(_ field: (String, String)) -> TestStep {
        .head(status: 200, reason: "OK", headers: [field, ("ETag", "\"v1\"")])
    }

    private static let steps: [TestStep] = [
        head(("Content-Length", "\(content.count)")), .body(0..<sent, of: content),
    ]

    /// Takes the body after a pause. May be used from any thread.
    private final class SlowReceiver: ResponseReceiver {
        private struct State {
            var bytes: [UInt8] = []
            var failure: TransportError?
            var hasEnded = false
            var hasPaused = false
            /// Number of parts that came after the end.
            var late = 0
        }
        private let state = Mutex(State())
        private let pausesAtHead: Bool
        let begun = AsyncStream.makeStream(of: Void.self)
        private let ended = AsyncStream.makeStream(of: Void.self)

        init(pausesAtHead: Bool) { self.pausesAtHead = pausesAtHead }

        var bytes: [UInt8] { state.withLock(\.bytes) }
        var late: Int { state.withLock(\.late) }

        func failure() async -> TransportError? {
            for await _ in ended.stream {}
            return state.withLock(\.failure)
        }

        func headReceived(_ head: ResponseHead, on eventLoop: any EventLoop) -> EventLoopFuture<Void> {
            (pausesAtHead ? pause(on: eventLoop) : nil) ?? eventLoop.makeSucceededVoidFuture()
        }

        func bodyReceived(_ bytes: ByteBuffer, on eventLoop: any EventLoop) -> EventLoopFuture<Void>? {
            state.withLock { state in
                if state.hasEnded { state.late += 1 }
                state.bytes += Array(bytes.readableBytesView)
            }
            return pause(on: eventLoop)
        }

        /// - Returns: `nil` after the first pause.
        private func pause(on eventLoop: any EventLoop) -> EventLoopFuture<Void>? {
            let isFirst = state.withLock { state in
                defer { state.hasPaused = true }
                return !state.hasPaused
            }
            guard isFirst else { return nil }
            begun.continuation.finish()
            return eventLoop.scheduleTask(in: TimeAmount(BrokenOffAnswerFaultTests.pause)) {}.futureResult
        }

        func ended(_ failure: TransportError?) {
            state.withLock { ($0.failure, $0.hasEnded) = (failure, true) }
            ended.continuation.finish()
        }
    }

    private func run(
        tls: TestCertificate? = nil,
        _ steps: [TestStep],
        pausesAtHead: Bool = false,
        _ test: (SlowReceiver, any Exchange) async throws -> Void
    ) async throws {
        let server = try await TestServer.start(tls: tls) { _ in TestReply(steps, keepsAlive: false) }
        var configuration = Downloader.Configuration()
        configuration.network.certificateAuthorities = tls?.certificatePath
        let transport = try HTTPTransport(configuration, isTight: false)
        let receiver = SlowReceiver(pausesAtHead: pausesAtHead)
        let url = try #require(URL(string: server.url("/file.bin")))
        let request = TransportRequest(url: url, headers: [], allowsInsecureRedirects: false)
        let exchange = transport.open(request, receiver: receiver)
        var failure: (any Error)?
        do { try await test(receiver, exchange) } catch { failure = error }
        await transport.shutDown()
        await server.stop()
        if let failure { throw failure }
    }

    private func expectAll(_ receiver: SlowReceiver) async {
        let failure = await receiver.failure()
        #expect(failure?.kind == .connectionLost)
        #expect(receiver.bytes == Self.content.bytes(0..<Self.sent))
    }

    @Test(arguments: [TestStep.close, .closeAbruptly], [false, true])
    func passesOnAllBytesThatArrivedBeforeTheEnd(_ end: TestStep, _ pausesAtHead: Bool) async throws {
        try await run(Self.steps + [end], pausesAtHead: pausesAtHead) { receiver, _ in await expectAll(receiver) }
        try await run(tls: TestCertificate.shared(), Self.steps + [end], pausesAtHead: pausesAtHead) { receiver, _ in
            await expectAll(receiver)
        }
    }

    @Test func passesOnAllChunksThatArrivedBeforeTheEnd() async throws {
        let chunks = TestStep.chunked(0..<Self.sent, of: Self.content, terminated: false)
        try await run([Self.head(("Transfer-Encoding", "chunked")), chunks, .close]) { receiver, _ in
            await expectAll(receiver)
        }
    }

    @Test func passesOnTheChunksBeforeAMalformedOne() async throws {
        let chunks = TestStep.chunked(0..<Self.sent, of: Self.content, terminated: false)
        let steps = [Self.head(("Transfer-Encoding", "chunked")), chunks, .raw(Array("no size\r\n".utf8)), .close]
        try await run(steps) { receiver, _ in
            let failure = await receiver.failure()
            #expect(failure?.kind == .malformedResponse)
            #expect(receiver.bytes == Self.content.bytes(0..<Self.sent))
        }
    }

    @Test func completesAnAnswerThatEndsWithItsConnection() async throws {
        for head in [Self.head(("Content-Length", "\(Self.sent)")), Self.head(("Connection", "close"))] {
            try await run([head, .body(0..<Self.sent, of: Self.content), .close]) { receiver, _ in
                #expect(await receiver.failure() == nil)
                #expect(receiver.bytes == Self.content.bytes(0..<Self.sent))
            }
        }
    }

    @Test func passesNothingOnAfterACancellation() async throws {
        try await run(Self.steps + [.close]) { receiver, exchange in
            for await _ in receiver.begun.stream {}
            try await Task.sleep(for: Self.pause / 2)
            exchange.cancel()
            #expect(await receiver.failure() != nil)
            let bytes = receiver.bytes
            try await Task.sleep(for: Self.pause)
            #expect(receiver.bytes == bytes)
            #expect(receiver.late == 0)
        }
    }

    @Test func asksForNoByteAgainThatArrived() async throws {
        let resource = Self.content.resource()
        let first = Self.steps
        try await DownloaderRig.run(
            configure: { $0.network.bytesPerSecond = 1_500_000 },
            serving: { $0.range == nil ? TestReply(first + [.close], keepsAlive: false) : resource.reply(to: $0) }
        ) { rig in
            try await rig.download()
            #expect(try rig.holdsOnly(Self.content))
            #expect(rig.server.requests.compactMap { $0.range?.first } == [Self.sent])
        }
    }
}
