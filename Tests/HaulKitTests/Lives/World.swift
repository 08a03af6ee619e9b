import CHaulSimulation
import DequeModule
import Foundation
import NIOCore

@testable import HaulCore
@testable import HaulKit

/// Controls the time and order of everything in one life: jobs of the concurrency runtime, blocking calls, and network
/// events. One thread runs them all, in an order that the seed chooses. Time advances when nothing else is ready.
///
/// `@unchecked Sendable`, because only the thread that runs the life uses it, from the first call to the last.
final class World: @unchecked Sendable {
    typealias Call = @Sendable () -> Void

    private enum Ready {
        case job(UnsafeMutableRawPointer)
        case call(Call)
        case queue(Queue)
    }

    /// Calls that run one after another.
    final class Queue: @unchecked Sendable {
        fileprivate var calls: Deque<Call> = []
        /// Whether a call of this queue is about to run.
        fileprivate var isReady = false
    }

    private struct Timer {
        var at: Int64
        var number: Int
        var call: Call
        var drop: Call
    }

    /// Nanoseconds since the beginning of the life.
    private(set) var now: Int64 = 0
    var random: SplitMix64
    /// One step in `disorder` takes another than the next item; 0 for none.
    private let disorder: UInt64
    private var ready: Deque<Ready> = []
    private var timers: [Timer] = []
    private var nextTimer = 0
    private(set) var steps = 0
    /// A hash of the order of the steps.
    private(set) var fingerprint: UInt64 = 14_695_981_039_346_656_037
    /// Whether the current step runs on the event loop.
    private(set) var isInLoop = false
    private let loopQueue = Queue()
    private(set) lazy var loop = WorldEventLoop(self)
    /// Whether the events are recorded as text.
    private let isTraced: Bool
    private(set) var traces: [String] = []

    init(seed: UInt64, isTraced: Bool = false) {
        random = SplitMix64(seed: seed)
        disorder = [0, 2, 4, 16][Int(random.next(upperBound: 4 as UInt64))]
        self.isTraced = isTraced
    }

    // MARK: Chance

    func chance(_ count: Int) -> Int { Int(random.next(upperBound: UInt64(max(1, count)))) }
    func chance(_ range: ClosedRange<Int>) -> Int { range.lowerBound + chance(range.count) }
    /// Returns `true` with probability 1 / `count`.
    func once(in count: Int) -> Bool { chance(count) == 0 }

    func trace(_ text: @autoclosure () -> String) {
        guard isTraced else { return }
        let milliseconds = now / 1_000_000
        traces.append("\(milliseconds / 1000).\(String(milliseconds % 1000 + 1000).dropFirst()) \(text())")
    }

    func note(_ value: Int64) {
        fingerprint = (fingerprint ^ UInt64(bitPattern: value)) &* 1_099_511_628_211
    }

    // MARK: Running

    /// Runs steps until `isDone` returns `true`.
    ///
    /// - Returns: the reason why the life did not end; `nil` if `isDone` became `true`.
    func run(mostSteps: Int, until limit: Int64, isDone: () -> Bool) -> String? {
        while !isDone() {
            if steps >= mostSteps { return "no end after \(steps) steps" }
            if now > limit { return "no end after \(now / 1_000_000_000) s" }
            guard step() else { return "nothing can happen any more" }
        }
        return nil
    }

    /// Redirects the jobs of this thread to this world until `release`.
    func capture() {
        haul_jobs_capture(Unmanaged.passUnretained(self).toOpaque()) { context, job in
            guard let context, let job else { return }
            Unmanaged<World>.fromOpaque(context).takeUnretainedValue().ready.append(.job(job))
        }
    }

    static func release() { haul_jobs_release() }

    /// Ends the life and drops everything that is pending, because pending calls would keep their objects alive.
    func end() {
        // The network library reports an abandoned promise as an error, so timers are told of the end.
        isInLoop = true
        for timer in timers { timer.drop() }
        isInLoop = false
        timers = []
        ready = []
        loopQueue.calls = []
    }

    /// - Returns: `false` if nothing is ready and no timer is set.
    private func step() -> Bool {
        steps += 1
        guard !ready.isEmpty else { return fire() }
        var index = 0
        if disorder > 0, ready.count > 1, random.next(upperBound: disorder) == 0 { index = chance(min(ready.count, 6)) }
        let next = index == 0 ? ready.removeFirst() : ready.remove(at: index)
        switch next {
        case .job(let job):
            note(now)
            haul_job_run(job)
        case .call(let call):
            note(~now)
            call()
        case .queue(let queue):
            queue.isReady = false
            guard let call = queue.calls.popFirst() else { return true }
            note(now << 1)
            isInLoop = queue === loopQueue
            call()
            isInLoop = false
            makeReady(queue)
        }
        return true
    }

    private func fire() -> Bool {
        guard var first = timers.indices.first else { return false }
        for index in timers.indices
        where (timers[index].at, timers[index].number) < (timers[first].at, timers[first].number) {
            first = index
        }
        let timer = timers.remove(at: first)
        now = max(now, timer.at)
        note(now << 2)
        timer.call()
        return true
    }

    private func makeReady(_ queue: Queue) {
        guard !queue.isReady, !queue.calls.isEmpty else { return }
        queue.isReady = true
        ready.append(.queue(queue))
    }

    // MARK: What the engine is given

    func call(_ call: @escaping Call) { ready.append(.call(call)) }

    func call(on queue: Queue, _ call: @escaping Call) {
        queue.calls.append(call)
        makeReady(queue)
    }

    func onLoop(_ call: @escaping Call) { self.call(on: loopQueue, call) }

    /// Calls `call` after a time, on no particular thread.
    ///
    /// - Parameter drop: called instead, on the event loop, if the life ends before.
    @discardableResult
    func timer(in nanoseconds: Int64, orAtTheEnd drop: @escaping Call = {}, _ call: @escaping Call) -> Int {
        nextTimer += 1
        timers.append(Timer(at: now + max(0, nanoseconds), number: nextTimer, call: call, drop: drop))
        return nextTimer
    }

    /// - Returns: `false` if the timer has fired.
    @discardableResult
    func cancelTimer(_ number: Int) -> Bool {
        guard let index = timers.firstIndex(where: { $0.number == number }) else { return false }
        timers.remove(at: index)
        return true
    }

    var timekeeper: EngineClock {
        EngineClock(Clock(world: self)) { [self] in Self.beginning.addingTimeInterval(Double(now) / 1e9) }
    }

    /// The wall-clock time at the beginning of each life.
    static let beginning = Date(timeIntervalSince1970: 1_767_225_600)

    struct Clock: _Concurrency.Clock {
        struct Instant: InstantProtocol {
            var nanoseconds: Int64
            func advanced(by duration: Duration) -> Instant { Instant(nanoseconds: nanoseconds + duration.nanoseconds) }
            func duration(to other: Instant) -> Duration { .nanoseconds(other.nanoseconds - nanoseconds) }
            static func < (left: Instant, right: Instant) -> Bool { left.nanoseconds < right.nanoseconds }
        }

        let world: World
        var now: Instant { Instant(nanoseconds: world.now) }
        var minimumResolution: Duration { .nanoseconds(1) }

        func sleep(until deadline: Instant, tolerance: Duration?) async throws {
            let sleeper = Sleeper()
            try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                    if Task.isCancelled { return continuation.resume(throwing: CancellationError()) }
                    sleeper.continuation = continuation
                    sleeper.timer = world.timer(in: deadline.nanoseconds - world.now) {
                        sleeper.continuation?.resume()
                        sleeper.continuation = nil
                    }
                }
            } onCancel: {
                guard let continuation = sleeper.continuation else { return }
                sleeper.continuation = nil
                world.cancelTimer(sleeper.timer)
                continuation.resume(throwing: CancellationError())
            }
        }
    }

    /// `@unchecked Sendable` for the same reason as `World`.
    private final class Sleeper: @unchecked Sendable {
        var continuation: CheckedContinuation<Void, any Error>?
        var timer = 0
    }
}

extension Duration {
    var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds.multipliedReportingOverflow(by: 1_000_000_000).partialValue + attoseconds / 1_000_000_000
    }
}
