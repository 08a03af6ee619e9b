internal import AsyncHTTPClient
internal import Foundation
internal import NIOCore
internal import NIOHTTP1
internal import Synchronization

/// Passes one response to its receiver, keeps responses to itself that lead to another request, and watches for
/// silence.
final class ResponseDelegate: HTTPClientResponseDelegate {
    enum Outcome: Sendable {
        case delivered
        case redirected(location: String, status: Int)
        /// The server requires another authentication, which Haul can give now.
        case challenged
        /// The proxy does not let the request through.
        case refused(TransportError)
    }
    typealias Response = Outcome

    private let url: URL
    private let requested: URL
    private let credentials: CredentialSource?
    private let receiver: any ResponseReceiver
    private let detour: @Sendable (HTTPResponseHead) -> Outcome?
    private let onConnection: @Sendable () -> Void
    private struct State {
        /// The outcome of an answer that is not for the receiver.
        var detour: Outcome?
        var discarded = 0
        var lastActivity = NIODeadline.now()
        /// Whether the receiver holds the server back. Silence then says nothing about the server.
        var isHoldingBack = false
        var hasHead = false
        /// Whether there is a connection and the request is being sent.
        var isConnected = false
        var isAbandoned = false
        var watch: Scheduled<Void>?
        /// Ends the wait for the body of a redirect.
        var farewell: Scheduled<Void>?
        var hasEnded = false
    }
    private let state = Mutex(State())

    /// Limits of the body of a redirect. A longer or slower body is not worth reading to keep the connection.
    private static let mostDetourBody = 64 * 1024
    private static let mostDetourWait = TimeAmount.milliseconds(100)

    /// - Parameters:
    ///   - credentials: source of the request's credentials.
    ///   - onConnection: called once there is a connection.
    ///   - detour: returns the outcome of an answer that is not for the receiver; `nil` for any other.
    init(
        url: URL,
        requested: URL,
        credentials: CredentialSource?,
        receiver: any ResponseReceiver,
        onConnection: @escaping @Sendable () -> Void,
        detour: @escaping @Sendable (HTTPResponseHead) -> Outcome?
    ) {
        self.url = url
        self.requested = requested
        self.credentials = credentials
        self.receiver = receiver
        self.onConnection = onConnection
        self.detour = detour
    }

    // MARK: Connecting

    /// Whether there has been a connection.
    var isConnected: Bool { state.withLock(\.isConnected) }

    /// Marks the request as given up if it has no connection yet.
    ///
    /// - Returns: whether the request may be sent in another way.
    func abandon() -> Bool {
        state.withLock { state in
            guard !state.isConnected, !state.hasEnded, !state.isAbandoned else { return false }
            state.isAbandoned = true
            return true
        }
    }

    // MARK: Silence

    func watch(_ task: HTTPClient.Task<Outcome>, stallTimeout: TimeAmount) {
        schedule(task, stallTimeout, in: stallTimeout)
    }

    private func schedule(_ task: HTTPClient.Task<Outcome>, _ timeout: TimeAmount, in delay: TimeAmount) {
        let watch = task.eventLoop.scheduleTask(in: delay) { self.check(task, timeout) }
        let isLate = state.withLock { state in
            state.watch = watch
            return state.hasEnded
        }
        if isLate { watch.cancel() }
    }

    private func check(_ task: HTTPClient.Task<Outcome>, _ timeout: TimeAmount) {
        let now = NIODeadline.now()
        let (idle, hasHead) = state.withLock { state in
            if state.isHoldingBack { state.lastActivity = now }
            return (now - state.lastActivity, state.hasHead)
        }
        if idle >= timeout {
            task.fail(reason: TransportError(hasHead ? .stalled : .responseTimeout))
        } else {
            schedule(task, timeout, in: timeout - idle)
        }
    }

    private func note(holdingBackFor future: EventLoopFuture<Void>) -> EventLoopFuture<Void> {
        // An event loop shares one succeeded future, which needs no wait.
        if future === future.eventLoop.makeSucceededVoidFuture() { return future }
        state.withLock { $0.isHoldingBack = true }
        return future.always { _ in
            self.state.withLock { state in
                state.isHoldingBack = false
                state.lastActivity = .now()
            }
        }
    }

    // MARK: HTTPClientResponseDelegate

    func didSendRequestHead(task: HTTPClient.Task<Outcome>, _ head: HTTPRequestHead) {
        let isFirst = state.withLock { state in
            defer { state.isConnected = true }
            return !state.isConnected
        }
        if isFirst { onConnection() }
    }

    func didReceiveHead(task: HTTPClient.Task<Outcome>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
        let detour = detour(head)
        state.withLock { state in
            state.hasHead = true
            state.lastActivity = .now()
            state.detour = detour
        }
        if detour != nil { return discardBody(of: head, task) }
        let answer = ResponseHead(
            status: Int(head.status.code),
            headers: HeaderFields(head.headers),
            url: url,
            requested: requested,
            credentials: credentials
        )
        return note(holdingBackFor: receiver.headReceived(answer, on: task.eventLoop))
    }

    /// Discards the body of an answer that leads to another request. Reads only a body that ends soon, which keeps the
    /// connection.
    private func discardBody(of head: HTTPResponseHead, _ task: HTTPClient.Task<Outcome>) -> EventLoopFuture<Void> {
        let length = head.headers.first(name: "Content-Length").flatMap { Int($0) } ?? 0
        guard head.isKeepAlive, length <= Self.mostDetourBody else {
            return task.eventLoop.makeFailedFuture(EnoughOfDetour())
        }
        let farewell = task.eventLoop.scheduleTask(in: Self.mostDetourWait) { task.fail(reason: EnoughOfDetour()) }
        state.withLock { $0.farewell = farewell }
        return task.eventLoop.makeSucceededVoidFuture()
    }

    func didReceiveBodyPart(task: HTTPClient.Task<Outcome>, _ buffer: ByteBuffer) -> EventLoopFuture<Void> {
        let isDiscarding: Bool? = state.withLock { state in
            state.lastActivity = .now()
            guard state.detour != nil else { return false }
            state.discarded += buffer.readableBytes
            return state.discarded > Self.mostDetourBody ? nil : true
        }
        switch isDiscarding {
        case nil: return task.eventLoop.makeFailedFuture(EnoughOfDetour())
        case true?: return task.eventLoop.makeSucceededVoidFuture()
        case false?:
            guard let future = receiver.bodyReceived(buffer, on: task.eventLoop) else {
                return task.eventLoop.makeSucceededVoidFuture()
            }
            return note(holdingBackFor: future)
        }
    }

    func didFinishRequest(task: HTTPClient.Task<Outcome>) throws -> Outcome {
        end()
    }

    func didReceiveError(task: HTTPClient.Task<Outcome>, _ error: any Error) {
        _ = end()
    }

    private func end() -> Outcome {
        let (timers, detour) = state.withLock { state in
            state.hasEnded = true
            defer { (state.watch, state.farewell) = (nil, nil) }
            return ([state.watch, state.farewell], state.detour)
        }
        for timer in timers { timer?.cancel() }
        return detour ?? .delivered
    }

    /// Returns the outcome of an answer whose body broke off; `nil` if the answer was for the receiver.
    func outcome(after error: any Error) -> Outcome? {
        if error is EnoughOfDetour { return end() }
        // The head determines the outcome, however the body ends.
        guard state.withLock({ $0.detour != nil }), (error as? HTTPClientError) != .cancelled else { return nil }
        return end()
    }

    private struct EnoughOfDetour: Error {}
}
