import Foundation
import Synchronization

@testable import HaulCore
@testable import HaulKit

/// Runs many lives on a few threads.
final class LifeRunner: Sendable {
    struct Failure: Sendable {
        var seed: UInt64
        var violations: [String]
    }

    private let count: Int
    private let first: UInt64
    private let kind: Life.Kind
    private let mostFailures: Int
    private let onFailure: @Sendable (Failure) -> Void
    private let begun = Atomic<Int>(0)
    private let running = Atomic<Int>(0)
    private let failures = Mutex<[Failure]>([])
    private let steps = Atomic<Int>(0)

    init(
        _ count: Int,
        from first: UInt64,
        _ kind: Life.Kind = .any,
        mostFailures: Int = 20,
        onFailure: @escaping @Sendable (Failure) -> Void = { _ in }
    ) {
        self.count = count
        self.first = first
        self.kind = kind
        self.mostFailures = mostFailures
        self.onFailure = onFailure
    }

    /// Number of steps of all lives so far.
    var stepCount: Int { steps.load(ordering: .relaxed) }
    var lifeCount: Int { min(count, begun.load(ordering: .relaxed)) }

    /// Runs the lives of consecutive seeds, and returns when all have ended. Uses threads of its own with low priority,
    /// because tasks that others wait for have only as many threads as there are cores.
    func run(threads: Int) async -> [Failure] {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            running.store(threads, ordering: .sequentiallyConsistent)
            for _ in 0..<threads {
                Thread.detachNewThread { [self] in
                    // On Linux the priority is that of this thread alone. A failure does no harm.
                    setpriority(Int32(PRIO_PROCESS.rawValue), 0, 10)
                    work()
                    if running.subtract(1, ordering: .sequentiallyConsistent).newValue == 0 { continuation.resume() }
                }
            }
        }
        return sorted
    }

    /// Runs the lives on the calling thread.
    func run() -> [Failure] {
        work()
        return sorted
    }

    private var sorted: [Failure] { failures.withLock { $0.sorted { $0.seed < $1.seed } } }

    /// Each life has a thread to itself, because the thread tells the jobs of the runtime apart.
    private func work() {
        do {
            let stores = [try LifeStore(), try LifeStore()]
            while true {
                let number = begun.add(1, ordering: .relaxed).oldValue
                guard number < count, failures.withLock({ $0.count }) < mostFailures else { return }
                let life = Life(seed: first &+ UInt64(number), stores: stores, kind)
                life.run()
                steps.add(life.world.steps, ordering: .relaxed)
                guard !life.violations.isEmpty else { continue }
                let failure = Failure(seed: life.seed, violations: life.violations)
                failures.withLock { $0.append(failure) }
                onFailure(failure)
            }
        } catch {
            failures.withLock { $0.append(Failure(seed: 0, violations: ["no store: \(error)"])) }
        }
    }

    /// Runs one life again with a trace.
    static func replay(_ seed: UInt64, _ kind: Life.Kind = .any) throws -> Life {
        let life = Life(seed: seed, stores: [try LifeStore(), try LifeStore()], kind, isTraced: true)
        life.run()
        return life
    }

    /// Lives through one film again and again, and kills the process or cuts the power one operation on the disk later
    /// each time, until a life ends before the cut.
    ///
    /// - Returns: the number of cuts, and the first failure with its operation as the seed.
    static func cutEverywhere(_ seed: UInt64, isPowerCut: Bool) throws -> (cuts: Int, failure: Failure?) {
        let stores = [try LifeStore(), try LifeStore()]
        var operation = 1
        while true {
            let life = Life(seed: seed, stores: stores, .filmCut(before: operation, isPowerCut: isPowerCut))
            life.run()
            if !life.violations.isEmpty {
                return (operation - 1, Failure(seed: UInt64(operation), violations: life.violations))
            }
            if !life.wasCut { return (operation - 1, nil) }
            operation += 1
        }
    }
}
