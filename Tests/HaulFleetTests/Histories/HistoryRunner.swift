@testable import HaulFleet

/// Runs many histories, one after another.
struct HistoryRunner {
    struct Failure: Sendable {
        var seed: UInt64
        var violations: [String]
    }

    struct Sum: Sendable {
        var histories = 0
        var steps = 0
        var published = 0
        var zombiePublications = 0
        var conflicts = 0
        var fenced = 0
        var completed = 0
        var failed = 0
        var lostWorkers = 0
        var cancelled = 0
        var failures: [Failure] = []

        mutating func add(_ history: History) {
            histories += 1
            steps += history.steps
            published += history.counts.published
            zombiePublications += history.counts.zombiePublications
            conflicts += history.counts.conflicts
            fenced += history.counts.fenced
            completed += history.counts.completed
            failed += history.counts.failed
            lostWorkers += history.counts.lostWorkers
            cancelled += history.counts.cancelled
            if !history.violations.isEmpty {
                failures.append(Failure(seed: history.seed, violations: history.violations))
            }
        }
    }

    static func run(_ count: Int, from first: UInt64, mostFailures: Int = 20) -> Sum {
        var sum = Sum()
        for number in 0..<count where sum.failures.count < mostFailures {
            let history = History(seed: first &+ UInt64(number))
            history.run()
            sum.add(history)
        }
        return sum
    }

    /// Runs one history again and records its trace.
    static func replay(_ seed: UInt64) -> History {
        let history = History(seed: seed, isTraced: true)
        history.run()
        return history
    }
}
