import Hummingbird
import NIOCore
import NIOEmbedded
import Testing

@testable import HaulServer

/// Tests that work for a client ends when the client leaves.
struct DepartureTests {
    private func context(_ channel: NIOAsyncTestingChannel) -> ServerContext {
        ServerContext(source: ApplicationRequestContextSource(channel: channel, logger: ServerRig.silent))
    }

    @Test(arguments: [true, false]) func workEndsWhenTheClientLeaves(_ isClosedWhole: Bool) async throws {
        let channel = await NIOAsyncTestingChannel(handlers: [Departure()])
        let context = context(channel)
        let (begun, begin) = AsyncStream<Void>.makeStream()
        let work = Task {
            try await context.whileConnected {
                begin.finish()
                try await Task.sleep(for: .seconds(3600))
            }
        }
        for await _ in begun {}
        if isClosedWhole {
            channel.pipeline.fireChannelInactive()
        } else {
            channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        }
        await #expect(throws: CancellationError.self) { try await work.value }
    }

    @Test func aClientThatLeftBeforeIsNoticed() async throws {
        let channel = await NIOAsyncTestingChannel(handlers: [Departure()])
        channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        let isCancelled = try await context(channel).whileConnected {
            do { try await Task.sleep(for: .seconds(3600)) } catch { return true }
            return false
        }
        #expect(isCancelled)
    }

    @Test func workForAClientThatStaysGoesOn() async throws {
        let channel = await NIOAsyncTestingChannel(handlers: [Departure()])
        #expect(try await context(channel).whileConnected { !Task.isCancelled })
        channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        let silent = NIOAsyncTestingChannel()
        #expect(try await context(silent).whileConnected { !Task.isCancelled })
    }
}
