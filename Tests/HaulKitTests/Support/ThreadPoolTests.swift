import Foundation
import Synchronization
import Testing

@testable import HaulCore
@testable import HaulKit

/// The thread pool for work on files.
struct ThreadPoolTests {
    /// Counts the calls that run at once.
    private final class Meter: Sendable {
        private let state = Mutex((now: 0, most: 0))
        var most: Int { state.withLock { $0.most } }

        func enter() {
            state.withLock { state in
                state.now += 1
                state.most = max(state.most, state.now)
            }
        }

        func leave() { state.withLock { $0.now -= 1 } }
    }

    private func done(_ count: Int, _ submit: (_ done: @escaping @Sendable () -> Void) -> Void) async {
        await withCheckedContinuation { continuation in
            let left = Left(count)
            submit { if left.countDown() { continuation.resume() } }
        }
    }

    private final class Left: Sendable {
        private let left: Mutex<Int>
        init(_ count: Int) { left = Mutex(count) }

        /// Counts down and returns whether this was the last call.
        func countDown() -> Bool {
            left.withLock { left in
                left -= 1
                return left == 0
            }
        }
    }

    @Test func runsNoMoreAtOnceThanItMay() async {
        let (pool, meter) = (ThreadPool(most: 4), Meter())
        await done(400) { done in
            for _ in 0..<400 {
                pool.async {
                    meter.enter()
                    for _ in 0..<100 { sched_yield() }
                    meter.leave()
                    done()
                }
            }
        }
        #expect((1...4).contains(meter.most))
        #expect(pool.threads <= 4)
    }

    @Test func keepsTheOrderOfEachFile() async {
        let pool = ThreadPool(most: 8)
        let queues = (0..<200).map { _ in SerialQueue(on: pool) }
        let log = Log()
        await done(200 * 20) { done in
            for number in 0..<20 {
                for (file, queue) in queues.enumerated() {
                    queue.async {
                        log.note(file, number)
                        done()
                    }
                }
            }
        }
        #expect(log.all.count == 200)
        #expect(log.all.values.allSatisfy { $0 == Array(0..<20) })
        #expect(pool.threads <= 8)
    }

    private final class Log: Sendable {
        private let written = Mutex<[Int: [Int]]>([:])
        var all: [Int: [Int]] { written.withLock(\.self) }
        func note(_ file: Int, _ number: Int) { written.withLock { $0[file, default: []].append(number) } }
    }

    /// A user may not be allowed further threads (`ulimit -u`).
    @Test func runsEverythingWithoutAThreadOfItsOwn() async {
        let pool = ThreadPool(most: 4) { _ in 11 }
        await done(50) { done in for _ in 0..<50 { pool.async(done) } }
        #expect(pool.threads == 0)
    }

    @Test func writesOfManyFilesNeedFewThreads() async throws {
        let meter = Meter()
        let queues = (0..<500).map { _ in BlockingExecutor.system.makeFileQueue() }
        await done(500) { done in
            for queue in queues {
                queue.async {
                    meter.enter()
                    for _ in 0..<100 { sched_yield() }
                    meter.leave()
                    done()
                }
            }
        }
        #expect(meter.most <= 16)
    }
}
