import Testing

@testable import HaulKit

struct YieldPauseTests {
    private static let host = Origin(link("https://home.example/f"))

    /// Seconds between further connections, each given up as soon as it was opened.
    @Test func doublesWhileConnectionsAreGivenUpSoonAfterEachOther() {
        var (pause, now, waits): (YieldPause, Instant, [Duration]) = (YieldPause(), .start, [])
        for _ in 0..<6 {
            pause.yielded(Self.host, at: now)
            let begun = now
            while pause.holds(Self.host, at: now) { now = now + .milliseconds(1) }
            waits.append(now - begun)
        }
        #expect(waits == [.milliseconds(500), .seconds(1), .seconds(2), .seconds(4), .seconds(4), .seconds(4)])
    }

    @Test func beginsShortAgainAfterAQuietTime() {
        var pause = YieldPause()
        pause.yielded(Self.host, at: .start)
        pause.yielded(Self.host, at: .start + .seconds(1))
        #expect(pause.holds(Self.host, at: .start + .milliseconds(1999)))
        pause.yielded(Self.host, at: .start + .seconds(6))
        #expect(!pause.holds(Self.host, at: .start + .milliseconds(6500)))
    }

    @Test func countsSeveralAtATimeAsOne() {
        var pause = YieldPause()
        for _ in 0..<5 { pause.yielded(Self.host, at: .start) }
        #expect(pause.holds(Self.host, at: .start + .milliseconds(499)))
        #expect(!pause.holds(Self.host, at: .start + .milliseconds(500)))
    }

    @Test func concernsOneHost() {
        var pause = YieldPause()
        pause.yielded(Self.host, at: .start)
        #expect(!pause.holds(Origin(link("https://other.example/f")), at: .start))
    }
}
