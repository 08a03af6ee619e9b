internal import AsyncHTTPClient
internal import Foundation
internal import NIOCore
internal import NIOHTTP1
internal import Synchronization

/// Passes one response on to its receiver, keeps redirects to itself, and watches for silence.
final class ResponseDelegate: HTTPClientResponseDelegate {
    enum Outcome: Sendable {
        case delivered
        case redirected(location: String)
    }
    typealias Response = Outcome

    private let url: URL
    private let requested: URL
    private let receiver: any ResponseReceiver
    private struct State {
        var location: String?
        var discarded = 0
        var lastActivity = NIODeadline.now()
        /// We are the ones who hold back: silence says nothing about the server.
        var isHoldingBack = false
        var hasHead = false
        var watch: Scheduled<Void>?
        /// Ends the wait for the body of a redirect.
        var farewell: Scheduled<Void>?
        var hasEnded = false
    }
    private let state = Mutex(State())

    /// A redirect's body that is longer, or that takes longer, is not worth reading to keep the connection.
    private static let mostRedirectBody = 64 * 1024
    private static let mostRedirectWait = TimeAmount.milliseconds(100)

    init(url: URL, requested: URL, receiver: any ResponseReceiver) {
        self.url = url
        self.requested = requested
        self.receiver = receiver
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
        // A loop has one future that is fulfilled already, and to wait for that is to wait for nothing.
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

    func didReceiveHead(task: HTTPClient.Task<Outcome>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
        let status = Int(head.status.code)
        let location = RedirectPolicy.isRedirect(status: status) ? head.headers.first(name: "Location") : nil
        state.withLock { state in
            state.hasHead = true
            state.lastActivity = .now()
            state.location = location
        }
        if location != nil { return discardBody(of: head, task) }
        let answer = ResponseHead(status: status, headers: head.headers, url: url, requested: requested)
        return note(holdingBackFor: receiver.headReceived(answer, on: task.eventLoop))
    }

    /// The target is gone to as soon as the head is there; only a body that ends right away is worth its connection.
    private func discardBody(of head: HTTPResponseHead, _ task: HTTPClient.Task<Outcome>) -> EventLoopFuture<Void> {
        let length = head.headers.first(name: "Content-Length").flatMap { Int($0) } ?? 0
        guard head.isKeepAlive, length <= Self.mostRedirectBody else {
            return task.eventLoop.makeFailedFuture(EnoughOfRedirect())
        }
        let farewell = task.eventLoop.scheduleTask(in: Self.mostRedirectWait) { task.fail(reason: EnoughOfRedirect()) }
        state.withLock { $0.farewell = farewell }
        return task.eventLoop.makeSucceededVoidFuture()
    }

    func didReceiveBodyPart(task: HTTPClient.Task<Outcome>, _ buffer: ByteBuffer) -> EventLoopFuture<Void> {
        let isDiscarding: Bool? = state.withLock { state in
            state.lastActivity = .now()
            guard state.location != nil else { return false }
            state.discarded += buffer.readableBytes
            return state.discarded > Self.mostRedirectBody ? nil : true
        }
        switch isDiscarding {
        case nil: return task.eventLoop.makeFailedFuture(EnoughOfRedirect())
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
        let (timers, location) = state.withLock { state in
            state.hasEnded = true
            defer { (state.watch, state.farewell) = (nil, nil) }
            return ([state.watch, state.farewell], state.location)
        }
        for timer in timers { timer?.cancel() }
        return location.map { .redirected(location: $0) } ?? .delivered
    }

    /// What a redirect led to although its body was broken off.
    func outcome(after error: any Error) -> Outcome? {
        error is EnoughOfRedirect ? end() : nil
    }

    private struct EnoughOfRedirect: Error {}
}
