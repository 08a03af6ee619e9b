import Testing

@testable import HaulCore

struct RetryPolicyTests {
    private let policy = RetryPolicy()

    @Test(arguments: [
        (1, 0.5), (2, 1.0), (3, 2.0), (7, 32.0), (8, 60.0), (1000, 60.0), (Int.max, 60.0), (0, 0.5), (-3, 0.5),
    ])
    func doublesTheBoundUpToTheCap(_ failures: Int, _ bound: Double) {
        let longest = policy.delay(failures: failures, chance: .max)
        #expect(longest.seconds <= bound && longest.seconds > bound * 0.99)
        #expect(policy.delay(failures: failures, chance: 0) == .zero)
        let middle = policy.delay(failures: failures, chance: .max / 2).seconds
        #expect(abs(middle - bound / 2) < 0.01)
    }

    @Test func spreadsWaitsEvenly() {
        var random = SplitMix64(seed: 5)
        let waits = (0..<2000).map { _ in policy.delay(failures: 8, chance: random.next()).seconds }
        for quarter in 0..<4 {
            let share = waits.count { $0 >= Double(quarter) * 15 && $0 < Double(quarter + 1) * 15 }
            #expect((400...600).contains(share), "quarter \(quarter): \(share)")
        }
    }

    @Test(arguments: [(3, 3), (0, 0), (-1, 0), (300, 300), (301, 300), (31_536_000, 300)])
    func capsWhatTheServerAsksFor(_ asked: Int, _ waited: Int) {
        #expect(policy.delay(failures: 1, chance: .max, retryAfter: .seconds(asked)) == .seconds(waited))
    }
}
