internal import AsyncHTTPClient
internal import Foundation
internal import NIOCore
internal import NIOHTTP1
internal import Synchronization

/// Passes one response to its receiver, unless the response leads to another request. Fails the request if the server
/// is silent for too long.
final class ResponseDelegate: HTTPClientResponseDelegate {
    typealias Response = AnswerJudgement

    private let url: URL
    private let requested: URL
    private let credentials: CredentialSource?
    private let receiver: any ResponseReceiver
    private let judge: @Sendable (ResponseHead) -> AnswerJudgement
    private let onConnection: @Sendable () -> Void
    private struct State {
        /// The judgement of an answer; `deliver` until there is one.
        var judgement = AnswerJudgement.deliver
        var discarded = 0
        var lastActivity = NIODeadline.now()
        /// The receiver's future while it holds the server back. Silence then says nothing about the server.
        var holdingBack: EventLoopFuture<Void>?
        /// Number of bytes of the body that the receiver has got.
        var received: Int64 = 0
        var hasHead = false
        /// Whether there is a connection and the request is being sent.
        var isConnected = false
        var isAbandoned = false
        var watch: Scheduled<Void>?
        /// Ends the wait for the body of an answer that leads to another request.
        var farewell: Scheduled<Void>?
        var hasEnded = false
    }
    private let state = Mutex(State())

    /// Limits of the body of an answer that leads to another request. A longer or slower body is not worth reading to
    /// keep the connection.
    private static let mostDetourBody = 64 * 1024
    private static let mostDetourWait = TimeAmount.milliseconds(100)

    /// - Parameters:
    ///   - credentials: source of the request's credentials.
    ///   - onConnection: called once there is a connection.
    ///   - judge: called once for each head. Must not refer to the exchange: the exchange keeps the HTTP client's task,
    ///     the task keeps the delegate, and the delegate keeps `judge`.
    init(
        url: URL,
        requested: URL,
        credentials: CredentialSource?,
        receiver: any ResponseReceiver,
        onConnection: @escaping @Sendable () -> Void,
        judge: @escaping @Sendable (ResponseHead) -> AnswerJudgement
    ) {
        self.url = url
        self.requested = requested
        self.credentials = credentials
        self.receiver = receiver
        self.onConnection = onConnection
        self.judge = judge
    }

    // MARK: Connecting

    var isConnected: Bool { state.withLock(\.isConnected) }

    /// Marks the request as given up if it has no connection yet.
    ///
    /// - Returns: `true` if the caller has to end the request; `false` if the request has a connection, has ended or is
    ///   given up already.
    func abandon() -> Bool {
        state.withLock { state in
            guard !state.isConnected, !state.hasEnded, !state.isAbandoned else { return false }
            state.isAbandoned = true
            return true
        }
    }

    // MARK: Silence

    func watch(_ task: HTTPClient.Task<AnswerJudgement>, stallTimeout: TimeAmount) {
        schedule(task, stallTimeout, in: stallTimeout)
    }

    private func schedule(_ task: HTTPClient.Task<AnswerJudgement>, _ timeout: TimeAmount, in delay: TimeAmount) {
        let watch = task.eventLoop.scheduleTask(in: delay) { self.check(task, timeout) }
        let isLate = state.withLock { state in
            state.watch = watch
            return state.hasEnded
        }
        if isLate { watch.cancel() }
    }

    private func check(_ task: HTTPClient.Task<AnswerJudgement>, _ timeout: TimeAmount) {
        let now = NIODeadline.now()
        let (idle, hasHead) = state.withLock { state in
            if state.holdingBack != nil { state.lastActivity = now }
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
        state.withLock { $0.holdingBack = future }
        return future.always { _ in
            self.state.withLock { state in
                state.holdingBack = nil
                state.lastActivity = .now()
            }
        }
    }

    // MARK: Answers that broke off

    /// Passes the rest of a broken-off answer to the receiver, once the receiver has taken what it has got.
    ///
    /// - Parameter cancellation: ends the wait for the receiver. The receiver gets nothing after that.
    /// - Returns: a future that completes when the receiver has taken the rest, or fails with the receiver's error.
    func pass(
        _ answer: BrokenOffAnswer,
        until cancellation: ExchangeCancellation,
        on eventLoop: any EventLoop
    ) -> EventLoopFuture<Void> {
        let (judgement, received, holdingBack) = state.withLock { ($0.judgement, $0.received, $0.holdingBack) }
        guard judgement == .deliver else { return eventLoop.makeSucceededVoidFuture() }
        var taken = holdingBack ?? eventLoop.makeSucceededVoidFuture()
        for part in answer.bytes(after: received) {
            taken = taken.flatMap { [receiver] in
                guard !cancellation.isCancelled else { return eventLoop.makeFailedFuture(CancellationError()) }
                return receiver.bodyReceived(part, on: eventLoop) ?? eventLoop.makeSucceededVoidFuture()
            }
        }
        let done = eventLoop.makePromise(of: Void.self)
        taken.cascade(to: done)
        cancellation.add(done)
        return done.futureResult
    }

    // MARK: HTTPClientResponseDelegate

    func didSendRequestHead(task: HTTPClient.Task<AnswerJudgement>, _ head: HTTPRequestHead) {
        let isFirst = state.withLock { state in
            defer { state.isConnected = true }
            return !state.isConnected
        }
        if isFirst { onConnection() }
    }

    func didReceiveHead(task: HTTPClient.Task<AnswerJudgement>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
        let answer = ResponseHead(
            status: Int(head.status.code),
            headers: HeaderFields(head.headers),
            url: url,
            requested: requested,
            credentials: credentials
        )
        let judgement = judge(answer)
        state.withLock { state in
            state.hasHead = true
            state.lastActivity = .now()
            state.judgement = judgement
        }
        if judgement != .deliver { return discardBody(of: head, task) }
        return note(holdingBackFor: receiver.headReceived(answer, on: task.eventLoop))
    }

    /// Discards the body of an answer that leads to another request. Reads only a body that ends soon, so that the
    /// connection can be used again.
    private func discardBody(of head: HTTPResponseHead, _ task: HTTPClient.Task<AnswerJudgement>) -> EventLoopFuture<
        Void
    > {
        let length = head.headers.first(name: "Content-Length").flatMap { Int($0) } ?? 0
        guard head.isKeepAlive, length <= Self.mostDetourBody else {
            return task.eventLoop.makeFailedFuture(EnoughOfDetour())
        }
        let farewell = task.eventLoop.scheduleTask(in: Self.mostDetourWait) { task.fail(reason: EnoughOfDetour()) }
        state.withLock { $0.farewell = farewell }
        return task.eventLoop.makeSucceededVoidFuture()
    }

    func didReceiveBodyPart(task: HTTPClient.Task<AnswerJudgement>, _ buffer: ByteBuffer) -> EventLoopFuture<Void> {
        let isDiscarding: Bool? = state.withLock { state in
            state.lastActivity = .now()
            guard state.judgement != .deliver else {
                state.received += Int64(buffer.readableBytes)
                return false
            }
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

    func didFinishRequest(task: HTTPClient.Task<AnswerJudgement>) throws -> AnswerJudgement {
        end()
    }

    func didReceiveError(task: HTTPClient.Task<AnswerJudgement>, _ error: any Error) {
        _ = end()
    }

    private func end() -> AnswerJudgement {
        let (timers, judgement) = state.withLock { state in
            state.hasEnded = true
            defer { (state.watch, state.farewell) = (nil, nil) }
            return ([state.watch, state.farewell], state.judgement)
        }
        for timer in timers { timer?.cancel() }
        return judgement
    }

    /// Returns the decision about the head of an answer. If the head is not for the receiver (a redirect or a
    /// challenge), ignores that the body broke off.
    func judgement(of result: Result<AnswerJudgement, any Error>) -> Result<AnswerJudgement, any Error> {
        result.flatMapError { error in
            if error is EnoughOfDetour { return .success(end()) }
            // The head determines the outcome, however the body ends.
            guard state.withLock({ $0.judgement != .deliver }), (error as? HTTPClientError) != .cancelled else {
                return .failure(error)
            }
            return .success(end())
        }
    }

    private struct EnoughOfDetour: Error {}
}
