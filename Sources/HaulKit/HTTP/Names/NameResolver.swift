internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// Looks names of hosts up, each on a thread of its own, so that a name whose servers are silent delays no other.
///
/// SwiftNIO looks the names of one event loop up one after another, and the time that a name waits for its turn counts as connecting.
/// Here a caller's time begins when the lookup of its name does.
final class NameResolver: Sendable {
    typealias WaiterID = LookupQueue.WaiterID
    /// Blocks until the name is looked up.
    typealias Lookup = @Sendable (_ name: String) -> Result<[ResolvedAddress], TransportError>
    /// Called once, on any thread.
    typealias Receiver = @Sendable (Result<Answer, TransportError>) -> Void
    /// Calls a closure after a time, unless what it returns is called before.
    typealias Timer = @Sendable (_ time: Duration, _ body: @escaping @Sendable () -> Void) -> @Sendable () -> Void

    struct Answer: Sendable, Equatable {
        /// Never empty.
        let addresses: [ResolvedAddress]
        /// The first address has served a connection.
        var isProven = false
        /// How long the lookup took, of what the caller has for connecting.
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

    /// `localhost` is never asked about (RFC 6761 §6.3).
    private static let loopback = ["::1", "127.0.0.1"].map(ResolvedAddress.init)

    /// The addresses of a name, where they are known without looking it up.
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

    /// Looks a name up.
    ///
    /// - Parameters:
    ///   - download: the one that wants to know. It has no more than a few lookups at the same time.
    ///   - limit: how long the lookup may take before the caller is told that it timed out. The time that it waits for a thread
    ///     does not count.
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

    /// A waiter wants no answer any more: it is told so at once. A lookup that runs goes on, and its thread with it.
    func cancel(_ id: WaiterID) { end([id], .failure(TransportError(.connectionLost, "cancelled"))) }

    /// The same for all of them.
    func cancelAll() {
        end(state.withLock { Array($0.waiters.keys) }, .failure(TransportError(.connectionLost, "cancelled")))
    }

    /// A connection to an address of the name has been made: it is tried first from now on.
    func connected(_ name: String, to address: ResolvedAddress) {
        state.withLock { $0.cache.prove(address, of: name) }
    }

    /// No connection could be made to any address of the name: it is looked up again before the next request.
    func failed(_ name: String) { state.withLock { $0.cache.forget(name) } }

    // MARK: Threads

    private func start() {
        let code = startThread { self.work() }
        guard code != 0 else { return }
        // Other threads look up what waits; without any, it would wait for ever.
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
