internal import Hummingbird
package import NIOCore
internal import Synchronization

/// Notices that the client has closed the connection, or its sending side, while an answer is being made.
///
/// Reads no part of a request, so the connection can take further requests.
package final class Departure: ChannelInboundHandler, RemovableChannelHandler, Sendable {
    package typealias InboundIn = Any

    private struct State {
        var hasLeft = false
        /// Ends the work for the request that is being answered; HTTP/1.1 answers one at a time.
        var end: (@Sendable () -> Void)?
    }
    private let state = Mutex(State())

    package init() {}

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case ChannelEvent.inputClosed = event { leave() }
        context.fireUserInboundEventTriggered(event)
    }

    package func channelInactive(context: ChannelHandlerContext) {
        leave()
        context.fireChannelInactive()
    }

    private func leave() {
        let end = state.withLock { state in
            state.hasLeft = true
            return state.end
        }
        end?()
    }

    /// Calls `end` when the client leaves; immediately if the client has left already.
    package func watch(_ end: @escaping @Sendable () -> Void) {
        let hasLeft = state.withLock { state in
            state.end = end
            return state.hasLeft
        }
        if hasLeft { end() }
    }

    package func stopWatching() { state.withLock { $0.end = nil } }
}

extension ServerContext {
    /// Runs `body` in a task, which is cancelled when the client leaves.
    func whileConnected<Value: Sendable>(
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        // Tests without a socket have no such handler.
        let departure = try? await channel.pipeline.handler(type: Departure.self).get()
        guard let departure else { return try await body() }
        let work = Task { try await body() }
        departure.watch { work.cancel() }
        defer { departure.stopWatching() }
        return try await withTaskCancellationHandler {
            try await work.value
        } onCancel: {
            work.cancel()
        }
    }
}
