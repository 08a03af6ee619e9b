internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// Looks up host names, each on its own thread, so that a name with silent name servers delays no other name.
///
/// SwiftNIO looks up the names of one event loop one after another, and the wait for a name's turn counts as
/// connecting. Here the time limit of a caller begins when the lookup of its name begins.
final class NameResolver: Sendable {
    typealias WaiterID = LookupQueue.WaiterID
    /// Blocks until the name is looked up.
    typealias Lookup = @Sendable (_ name: String) -> Result<[ResolvedAddress], TransportError>
    /// Called once, on any thread.
    typealias Receiver = @Sendable (Result<Answer, TransportError>) -> Void
    /// Calls `body` after `time`, unless the returned function is called first.
    typealias Timer = @Sendable (_ time: Duration, _ body: @escaping @Sendable () -> Void) -> @Sendable () -> Void

    struct Answer: Sendable, Equatable {
        /// Never empty.
        let addresses: [ResolvedAddress]
        /// Whether the first address has served a connection.
        var isProven = false
        /// Duration of the lookup. It counts towards the caller's time for connecting.
        var took: Duration = .zero
    }

    private struct Waiter: Sendable {
        let name: String
        let limit: Duration
        let receiver: Receiver
        var began: Instant?
        var stopTimer: (@Sendable () -> Void)?
    }

    private struct State: Sendable {
        var queue: LookupQueue
        var cache = NameCache()
        var waiters: [WaiterID: Waiter] = [:]
        var lastWaiter = 0
    }

    private let lookUp: Lookup
    private let startThread: DetachedThread.Starter
    private let timer: Timer
    private let now: @Sendable () -> Instant
    private let state: Mutex<State>

    init(
        limits: LookupQueue.Limits = .init(),
        lookUp: @escaping Lookup = SystemCalls.lookUp,
        startThread: @escaping DetachedThread.Starter = DetachedThread.start,
        timer: @escaping Timer = NameResolver.loopTimer,
        now: @escaping @Sendable () -> Instant = EngineClock(ContinuousClock()).now
    ) {
        self.lookUp = lookUp
        self.startThread = startThread
        self.timer = timer
        self.now = now
        state = Mutex(State(queue: LookupQueue(limits)))
    }

    /// A timer of the event loops.
    static let loopTimer: Timer = { time, body in
        let task = MultiThreadedEventLoopGroup.singleton.any().scheduleTask(in: TimeAmount(time), body)
        return { task.cancel() }
    }

    /// The addresses of `localhost`, which is never looked up (RFC 6761 §6.3).
    private static let loopback = ["::1", "127.0.0.1"].map(ResolvedAddress.init)

    /// Returns the addresses of a name if they are known. Starts another lookup in the background if they are stale.
    func known(_ name: String) -> Answer? {
        let (found, addition) = state.withLock { state -> (Answer?, LookupQueue.Addition) in
            let now = now()
            if name.lowercased() == "localhost", state.cache.entry(name, at: now) == nil {
                state.cache.store(Self.loopback, of: name, at: now)
            }
            guard let (entry, isStale) = state.cache.entry(name, at: now) else { return (nil, .init()) }
            let isLookedUp = isStale && name.lowercased() != "localhost" && !state.queue.contains(name)
            let addition = isLookedUp ? state.queue.add(name, for: nil, of: nil) : .init()
            return (Answer(addresses: entry.addresses, isProven: entry.isProven), addition)
        }
        if addition.startsThread { start() }
        return found
    }

    /// Looks a name up, and returns the number by which ``cancel(_:)`` ends the wait.
    ///
    /// - Parameters:
    ///   - download: the download that needs the name. It has only a few lookups at the same time.
    ///   - limit: time limit of the lookup, after which `receiver` gets a time-out. The wait for a thread does not
    ///     count.
    @discardableResult
    func resolve(
        _ name: String,
        for download: DownloadID?,
        within limit: Duration,
        _ receiver: @escaping Receiver
    ) -> WaiterID {
        let (id, addition) = state.withLock { state in
            state.lastWaiter += 1
            let id = state.lastWaiter
            state.waiters[id] = Waiter(name: name, limit: limit, receiver: receiver)
            return (id, state.queue.add(name, for: id, of: download))
        }
        if addition.isRunning { startTimers([id]) }
        if addition.startsThread { start() }
        return id
    }

    /// Ends a wait at once with an error. A running lookup and its thread go on.
    func cancel(_ id: WaiterID) { end([id], .failure(TransportError(.connectionLost, "cancelled"))) }

    /// Ends all waits at once with an error.
    func cancelAll() {
        end(state.withLock { Array($0.waiters.keys) }, .failure(TransportError(.connectionLost, "cancelled")))
    }

    /// Records a connection to an address of the name. That address is tried first from now on.
    func connected(_ name: String, to address: ResolvedAddress) {
        state.withLock { $0.cache.prove(address, of: name) }
    }

    /// Records that no address of the name accepted a connection. The name is looked up again before the next request.
    func failed(_ name: String) { state.withLock { $0.cache.forget(name) } }

    // MARK: Threads

    private func start() {
        let code = startThread { self.work() }
        guard code != 0 else { return }
        // Other threads serve the waiting names. If there is none, the waiters get an error, because they would wait
        // for ever.
        let left = state.withLock { $0.queue.threadFailed() }
        let reason = "there is no thread to look its name up: " + SystemCalls.describe(errno: code)
        end(left, .failure(TransportError(.connectionFailed, reason)))
    }

    private func work() {
        while let job = state.withLock({ $0.queue.next() }) {
            startTimers(job.waiters)
            let result = lookUp(job.name).map(ResolvedAddress.tried)
            let waiting = state.withLock { state in
                if case .success(let addresses) = result { state.cache.store(addresses, of: job.name, at: now()) }
                return state.queue.finish(job.name)
            }
            end(waiting, result)
        }
    }

    private func startTimers(_ ids: [WaiterID]) {
        let began = now()
        for id in ids {
            let limit = state.withLock { state in
                state.waiters[id]?.began = began
                return state.waiters[id]?.limit
            }
            guard let limit else { continue }
            let stop = timer(limit) { [self] in end([id], .failure(TransportError(.connectTimeout))) }
            let hasEnded = state.withLock { state in
                state.waiters[id]?.stopTimer = stop
                return state.waiters[id] == nil
            }
            if hasEnded { stop() }
        }
    }

    private func end(_ ids: [WaiterID], _ result: Result<[ResolvedAddress], TransportError>) {
        for id in ids {
            let waiter = state.withLock { state in
                guard let waiter = state.waiters.removeValue(forKey: id) else { return nil as Waiter? }
                state.queue.remove(id, of: waiter.name)
                return waiter
            }
            guard let waiter else { continue }
            waiter.stopTimer?()
            let took = waiter.began.map { now() - $0 } ?? .zero
            waiter.receiver(result.map { Answer(addresses: $0, took: took) })
        }
    }
}
