import Testing

@testable import HaulCore

struct BackoffTests {
    private func backoff(_ jitter: Backoff.Jitter) -> Backoff {
        Backoff(base: .milliseconds(500), cap: .seconds(60), jitter: jitter)
    }

    @Test(arguments: [
        (Int.min, 500), (0, 500), (1, 500), (2, 1000), (3, 2000), (7, 32_000), (8, 60_000), (Int.max, 60_000),
    ])
    func doublesTheBoundUpToTheCap(_ failures: Int, _ milliseconds: Int) {
        for jitter in [Backoff.Jitter.full, .part(2), .above(.milliseconds(100))] {
            #expect(backoff(jitter).bound(failures: failures) == .milliseconds(milliseconds))
            #expect(backoff(jitter).delay(failures: failures, fraction: 1) == .milliseconds(milliseconds))
        }
    }

    @Test(
        arguments: [
            (Backoff.Jitter.full, 0, 1000), (.part(2), 1000, 1500), (.part(5), 400, 1200), (.part(1), 2000, 2000),
            (.part(0), 2000, 2000), (.above(.milliseconds(100)), 100, 1050),
        ] as [(Backoff.Jitter, Int, Int)]
    )
    func spreadsTheDelayBelowTheBound(_ jitter: Backoff.Jitter, _ least: Int, _ middle: Int) {
        #expect(backoff(jitter).delay(failures: 3, fraction: 0) == .milliseconds(least))
        #expect(backoff(jitter).delay(failures: 3, fraction: 0.5) == .milliseconds(middle))
    }

    @Test func keepsTheFixedDelayAboveTheCap() {
        let backoff = Backoff(base: .milliseconds(1), cap: .milliseconds(50), jitter: .above(.milliseconds(100)))
        #expect(backoff.bound(failures: 9) == .milliseconds(100))
        #expect(backoff.delay(failures: 9, fraction: 0.3) == .milliseconds(100))
    }

    @Test(
        arguments: [
            (Duration.seconds(Int64.max), Duration.seconds(Int64.max), Backoff.longest),
            (.seconds(Int64.min), .seconds(60), .zero), (.seconds(1), .seconds(-1), .zero),
            (.seconds(9), .seconds(4), .seconds(4)),
        ] as [(Duration, Duration, Duration)]
    )
    func survivesEveryBaseAndCap(_ base: Duration, _ cap: Duration, _ bound: Duration) {
        let backoff = Backoff(base: base, cap: cap)
        #expect(backoff.bound(failures: .max) == bound)
        #expect(abs((backoff.delay(failures: .max, fraction: 1) - bound).seconds) < 0.001)
    }
}
