internal import CLibPQ
internal import HaulKit
internal import Synchronization

/// The thread of one connection. It answers calls one after another, connects on demand and runs until ``close()``.
final class DatabaseThread: Sendable {
    private struct State {
        var calls: [DatabaseCall] = []
        /// The call that is being answered.
        var current: DatabaseCall?
        var pipe: WakePipe?
        var isClosed = false
    }

    private let settings: DatabaseSettings
    private let threads: DatabaseThreads
    private let state = Mutex(State())

    init(_ settings: DatabaseSettings, among threads: DatabaseThreads) {
        (self.settings, self.threads) = (settings, threads)
    }

    func submit(_ call: DatabaseCall) {
        do throws(FleetError) {
            let pipe = try state.withLock { state throws(FleetError) -> WakePipe in
                guard !state.isClosed else {
                    throw FleetError(.cancelled, "The connection to the database was closed by its owner.")
                }
                state.calls.append(call)
                if let pipe = state.pipe { return pipe }
                let pipe = try WakePipe()
                let code = threads.start(self) { [self] in run(pipe) }
                guard code == 0 else {
                    throw FleetError(
                        .databaseUnreachable,
                        "No thread could be started for the database (error \(code))."
                    )
                }
                state.pipe = pipe
                return pipe
            }
            pipe.wake()
        } catch {
            state.withLock { $0.calls.removeAll { $0 === call } }
            call.finish(.failure(error))
        }
    }

    /// Makes the thread check whether its current call is over.
    func wake() { state.withLock { $0.pipe }?.wake() }

    /// Ends the thread. Waiting calls and the current call end with ``FleetError/Code/cancelled``.
    func close() {
        let (pipe, call) = state.withLock { state in
            state.isClosed = true
            return (state.pipe, state.current)
        }
        call?.finish(.failure(Self.closed))
        pipe?.wake()
    }

    private var isClosed: Bool { state.withLock { $0.isClosed } }

    private func nextCall() -> DatabaseCall? {
        let (next, last) = state.withLock { state in
            let last = state.current
            state.current = state.calls.isEmpty ? nil : state.calls.removeFirst()
            return (state.current, last)
        }
        // Releases `last` outside the lock, because it may hold the last reference to the connection, whose `deinit`
        // calls ``close()``.
        _ = consume last
        return next
    }

    // MARK: On the thread

    private func run(_ pipe: WakePipe) {
        let waiter = SocketWaiter(pipe)
        var connector = Connector(settings)
        while !isClosed {
            guard let call = nextCall() else {
                let socket = connector.session.map { PQsocket($0.connection) } ?? -1
                if waiter.idle(socket) { connector.checkIdle() }
                continue
            }
            if call.isOver { continue }
            waiter.call = call
            call.finish(answer(call, &connector, waiter))
            waiter.call = nil
            connector.dropIfBroken()
        }
        while let call = nextCall() { call.finish(.failure(Self.closed)) }
    }

    private static let closed = FleetError(.cancelled, "The connection to the database was closed.")

    private static let backoff = Backoff(base: .milliseconds(20), cap: .milliseconds(320), jitter: .part(5))

    private func answer(
        _ call: DatabaseCall,
        _ connector: inout Connector,
        _ waiter: SocketWaiter
    ) -> Result<Void, FleetError> {
        var attempts = 0
        while true {
            do throws(FleetError) {
                let session = try connector.connected(waiter)
                return .success(try call.work(session))
            } catch {
                attempts += 1
                guard call.isRepeatable, attempts < 6, let state = error.sqlState,
                    FleetError.conflictStates.contains(state), connector.session?.isBroken == false
                else { return .failure(error) }
                // Waits for a random time, so that two transactions that conflicted do not start again at the same
                // moment. The upper bound of the time doubles with each attempt.
                let delay = Self.backoff.delay(failures: attempts, fraction: .random(in: 0...1))
                do throws(FleetError) { try waiter.sleep(for: delay) } catch { return .failure(error) }
            }
        }
    }
}

/// Holds the session of a thread and the earliest time of the next attempt to connect.
private struct Connector {
    private let settings: DatabaseSettings
    private(set) var session: DatabaseSession?
    private var delay = ReconnectDelay()
    private var nextAttempt: ContinuousClock.Instant?
    private var lastError: FleetError?
    private var generator = SystemRandomNumberGenerator()

    init(_ settings: DatabaseSettings) { self.settings = settings }

    /// Returns the session, and connects if there is none. Before the time of the next attempt, throws the error of the
    /// last one without connecting.
    mutating func connected(_ waiter: SocketWaiter) throws(FleetError) -> DatabaseSession {
        // A connection that the server closed between calls has lost no statement, so it can be replaced.
        checkIdle()
        if let session { return session }
        if let nextAttempt, let lastError, nextAttempt > .now { throw lastError }
        do throws(FleetError) {
            let made = try DatabaseSession(settings, waiter: waiter)
            (session, lastError, nextAttempt) = (made, nil, nil)
            delay.succeeded()
            return made
        } catch {
            // Does not keep the error of a cancelled call, because it says nothing about the server.
            guard error.code != .cancelled else { throw error }
            lastError = error
            nextAttempt = .now + delay.failed(using: &generator)
            throw error
        }
    }

    mutating func checkIdle() {
        session?.checkIdle()
        dropIfBroken()
    }

    mutating func dropIfBroken() {
        if session?.isBroken == true { session = nil }
    }
}

/// Computes random delays between attempts to connect. The bound doubles with each failure. The randomness keeps a
/// fleet from reconnecting all at once.
struct ReconnectDelay: Sendable {
    private static let backoff = Backoff(
        base: .milliseconds(200),
        cap: .seconds(30),
        jitter: .above(.milliseconds(100))
    )

    private(set) var failures = 0

    /// Records a failure and returns the delay until the next attempt.
    mutating func failed(using generator: inout some RandomNumberGenerator) -> Duration {
        failures += 1
        return Self.backoff.delay(failures: failures, fraction: .random(in: 0...1, using: &generator))
    }

    mutating func succeeded() { failures = 0 }
}
