import Testing

@testable import HaulCore

struct YieldPauseTests {
    private static let host = Origin(link("https://home.example/f"))

    /// Measures the pause before each additional connection when every one is given up as soon as it is opened.
    @Test func doublesWhileConnectionsAreGivenUpSoonAfterEachOther() {
        var (pause, now, waits): (YieldPause, Instant, [Duration]) = (YieldPause(), .start, [])
        for _ in 0..<6 {
            pause.yielded(Self.host, at: now)
            let begun = now
            while pause.holds(Self.host, at: now) {
                now = now + .milliseconds(1)
                pause.used(Self.host, at: now)
            }
            waits.append(now - begun)
        }
        #expect(waits == [.milliseconds(500), .seconds(1), .seconds(2), .seconds(4), .seconds(4), .seconds(4)])
    }

    @Test func beginsShortAgainAfterAQuietTime() {
        var pause = YieldPause()
        pause.yielded(Self.host, at: .start)
        pause.yielded(Self.host, at: .start + .seconds(1))
        pause.used(Self.host, at: .start + .milliseconds(1600))
        #expect(pause.holds(Self.host, at: .start + .milliseconds(1999)))
        pause.yielded(Self.host, at: .start + .seconds(6))
        #expect(!pause.holds(Self.host, at: .start + .milliseconds(6500)))
    }

    @Test func endsWhereNoDownloadHasNeededASlotForAWhile() {
        var pause = YieldPause()
        for moment in [0, 600, 1700, 3800] { pause.yielded(Self.host, at: .start + .milliseconds(moment)) }
        pause.used(Self.host, at: .start + .seconds(4))
        #expect(pause.holds(Self.host, at: .start + .milliseconds(4499)))
        #expect(!pause.holds(Self.host, at: .start + .milliseconds(4500)))
        // The next pause is as long as it would have been without this early end.
        pause.yielded(Self.host, at: .start + .milliseconds(4600))
        pause.used(Self.host, at: .start + .milliseconds(8300))
        #expect(pause.holds(Self.host, at: .start + .milliseconds(8500)))
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
