import Foundation
import HaulTesting
import NIOCore
import NIOPosix
import Testing

@testable import HaulDesktop

/// Tests buses that break the protocol. The end-to-end tests use a real bus.
@Suite(.timeLimit(.minutes(60)))
struct DBusConnectionTests {
    /// Answers each received buffer with the next of `replies`.
    private final class Peer: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer
        private var replies: ArraySlice<[UInt8]>

        init(_ replies: [[UInt8]]) { self.replies = replies[...] }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard let reply = replies.popFirst() else { return }
            if reply.isEmpty { return context.close(promise: nil) }
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: reply)), promise: nil)
        }
    }

    private func open(_ replies: [[UInt8]], patience: TimeAmount = .hours(1)) async throws -> DBusError? {
        let folder = try TemporaryFolder()
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Peer(replies))
                }
            }
            .bind(unixDomainSocketPath: folder("bus")).get()
        var failure: DBusError?
        do throws(DBusError) {
            _ = try await DBusConnection.open([.path(folder("bus"))], until: .now() + patience)
        } catch { failure = error }
        try await server.close()
        return failure
    }

    private let ok = Array("OK 0123456789abcdef0123456789abcdef\r\n".utf8)

    @Test func refusalsAndNonsenseEndTheLogin() async throws {
        #expect(try await open([Array("REJECTED EXTERNAL\r\n".utf8)]) == .notAuthenticated)
        #expect(try await open([Array("OK 1\n".utf8)]) == .notAuthenticated)
        #expect(try await open([[0xff, 0x0a]]) == .notAuthenticated)
        #expect(try await open([[UInt8](repeating: 0x61, count: 5000)]) == .malformed)
        #expect(try await open([[]]) == .notConnected)
    }

    @Test func nonsenseAfterTheLoginEndsTheConnection() async throws {
        #expect(try await open([ok, [UInt8](repeating: 0xff, count: 64)]) == .notConnected)
        #expect(try await open([ok + [UInt8](repeating: 0x6c, count: 16)]) == .notConnected)
        #expect(try await open([ok, []]) == .notConnected)
    }

    @Test func aBusThatSaysNothingIsGivenUp() async throws {
        #expect(try await open([], patience: .milliseconds(50)) == .timedOut)
        #expect(try await open([ok], patience: .milliseconds(50)) == .timedOut)
        // The peer sends half of a line.
        #expect(try await open([Array("OK".utf8)], patience: .milliseconds(50)) == .timedOut)
    }

    @Test func whereThereIsNoBusThereIsNone() async throws {
        for addresses: [DBusAddress] in [
            [], [.path("/nonexistent/bus")], [.abstract("haul-\(UUID().uuidString)")], [.path("")],
            [.path(String(repeating: "x", count: 108))], [.path("/etc/passwd")],
        ] {
            await #expect(throws: DBusError.notConnected) {
                try await DBusConnection.open(addresses, until: .now() + .hours(1))
            }
        }
        #expect(await DesktopNotifier(bus: []).notify("Done") == false)
    }

    @Test func readsWhatNetworkManagerMeans() {
        func meaning(_ value: UInt32) -> Bool? { NetworkManagerMeter.meaning([.variant(.uint32(value))]) }
        #expect([0, 1, 2, 3, 4, 5].map(meaning) == [nil, true, false, true, false, nil])
        #expect(NetworkManagerMeter.meaning([]) == nil)
        #expect(NetworkManagerMeter.meaning([.variant(.string("yes"))]) == nil)
        #expect(NetworkManagerMeter.meaning([.uint32(1)]) == nil)
    }

    @Test func aNotificationShowsTextAndNothingElse() {
        func body(readsMarkup: Bool) -> DBusValue {
            DesktopNotifier.notification(
                from: "Haul",
                "a\0b\u{7}",
                body: "<a href=\"x\">&",
                urgency: .critical,
                readsMarkup: readsMarkup
            ).body[4]
        }
        #expect(body(readsMarkup: true) == .string("&lt;a href=\"x\"&gt;&amp;"))
        #expect(body(readsMarkup: false) == .string("<a href=\"x\">&"))
        let message = DesktopNotifier.notification(
            from: "Haul",
            "a\0b\u{7}",
            body: "",
            urgency: .low,
            readsMarkup: false
        )
        #expect(message.body[3] == .string("ab"))
        #expect(message.body.map(\.type.code).joined() == "susssasa{sv}i")
        #expect((try? message.encoded()) != nil)
    }
}
