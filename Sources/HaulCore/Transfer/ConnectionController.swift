/// Decides how many connections a download should have. The only measure is their total speed (RFC 6249 §7). The
/// controller doubles the number while doubling clearly helps (the first time it may quadruple it,
/// ``EarlyConnections``), then occasionally tries one more. Each additional connection must bring a minimum gain (the
/// penalty of Falcon, TPDS 34(8) 2023), because it costs the server resources and takes a share of the link from others.
package struct ConnectionController: Sendable, Equatable {
    /// Wanted number of connections. Surplus connections are not replaced when they end. They are
    /// closed earlier only if ``isHarmful`` says so.
    package private(set) var target: Int
    private let ceiling: Int
    private let atOnce: Int
    private var host: LearnedHostLimit
    private var phase: Phase = .growing
    /// Speed measurement at the present `target`; `nil` until enough connections get bytes.
    private var window: FlowWindow?
    /// When `target` was set; `nil` before the first tick.
    private var aimedAt: Instant?
    /// Samples of the last two seconds, oldest first.
    private var recent: [Sample] = []
    private var climbWait = Self.firstClimbWait
    /// The largest number of connections that was clearly faster than half as many.
    package private(set) var worthwhile = 1
    /// Whether the link was seen to be idle between two bursts of the server.
    private var isBursting = false
    /// Whether more connections than `target` made the download clearly slower, so that the surplus ones are closed.
    package private(set) var isHarmful = false

    private enum Phase: Sendable, Equatable {
        /// Measures the speed of the present count, to double the count.
        case growing
        case trying(Trial)
        case settled(Settled)
    }

    private struct Trial: Sendable, Equatable {
        enum Kind: Sendable, Equatable { case doubling, secondThought, climb }
        let kind: Kind
        /// The count before the trial, and its speed in bytes per second.
        let count: Int
        let speed: Double
        /// Whether `speed` was measured for less than `windows.none`, so that a burst of the server may have raised it.
        let isBrief: Bool
    }

    private struct Settled: Sendable, Equatable {
        var nextClimb: Instant
        /// Moving average of the speed of this count, in bytes per second; `nil` before the first measurement.
        var speed: Double?
        /// A higher count that did not seem to help, and its speed.
        var rejected: Rejected?
    }

    private struct Rejected: Sendable, Equatable {
        let count: Int
        let speed: Double
    }

    private struct Sample: Sendable, Equatable {
        let received: Int64
        let localWork: Duration
        let at: Instant
    }

    private static let patience: Duration = .milliseconds(1500)
    /// Longest wait for surplus connections to end after `target` was lowered. After this wait, the measurement
    /// includes the surplus connections.
    private static let runningOut: Duration = .seconds(5)
    /// The shortest windows that can show a clear gain, a gain, and the absence of a gain. The last one is longer than
    /// a second, because a server may send in bursts a second apart.
    private static let windows: (clear: Duration, gain: Duration, none: Duration) =
        (.milliseconds(400), .milliseconds(800), .milliseconds(1200))
    /// Shortest time over which speeds are measured before a small difference between them counts.
    private static let settledWindow: Duration = .seconds(2)
    /// Loss of speed, as a share, from which on surplus connections do harm.
    private static let harm = 0.3
    /// Remaining seconds of a file below which no further connection is tried.
    private static let horizon = 1.5
    /// Largest count that is doubled again after the speed has clearly risen or one more connection has helped.
    private static let few = 4
    private static let firstClimbWait: Duration = .seconds(3)
    private static let longestClimbWait: Duration = .seconds(30)

    /// - Parameters:
    ///   - ceiling: largest number of connections.
    ///   - start: first target; more than 1 if the user named a number or more connections to the host were worthwhile
    ///     before.
    ///   - atOnce: number of connections that are opened before the host has shown that it allows as many; `nil` for
    ///     `start`.
    ///   - knownLimit: largest number of connections that the host was seen to allow before; `nil` if unknown.
    package init(ceiling: Int, start: Int = 1, atOnce: Int? = nil, knownLimit: Int? = nil) {
        self.ceiling = min(max(ceiling, 1), LearnedHostLimit.sane)
        host = LearnedHostLimit(known: knownLimit)
        target = min(max(start, 1), self.ceiling, host.limit ?? .max)
        self.atOnce = min(max(atOnce ?? target, 1), target)
    }

    /// Largest number of connections that the host was seen to allow, for later downloads; `nil` if unknown.
    package var learnedLimit: Int? { host.limit }

    /// Returns whether another connection may be opened now. `count` includes the connections that wait for an answer.
    package func mayOpen(count: Int, at now: Instant) -> Bool {
        count < target && host.mayOpen(count: count, sure: atOnce, at: now)
    }

    /// Notes that an additional connection was refused (429, 503, reset, refused) while `flowing` others got bytes.
    /// Until `retryAfter` or a pause has passed, a connection is opened only while fewer than `flowing` are open.
    package mutating func refused(flowing: Int, retryAfter: Duration?, at now: Instant) {
        host.refused(flowing: flowing, retryAfter: retryAfter, at: now)
        window = nil
        guard target > most else { return }
        aim(at: most, at: now)
        settle(at: now)
    }

    /// Measures the speed and adjusts `target`. The caller calls this about five times a second while there are
    /// connections.
    /// - Parameters:
    ///   - received: bytes of the file that have arrived.
    ///   - flowing: connections that get bytes.
    ///   - missing: bytes of the file still to come.
    ///   - early: number of early connections that may be opened.
    ///   - localWork: time so far in which the write thread, or the processors, were the limit.
    package mutating func tick(
        received: Int64,
        flowing: Int,
        missing: Int64,
        early: Int = 0,
        localWork: Duration = .zero,
        at now: Instant
    ) {
        if let last = recent.last, now <= last.at { return }
        let received = max(received, 0)
        if aimedAt == nil { aimedAt = now }
        followHost(flowing: flowing, at: now)
        let sample = Sample(received: received, localWork: localWork, at: now)
        measure(sample, flowing: flowing)
        remember(sample)
        guard let window else { return }
        if window.isIdling { isBursting = true }
        let pace = min(window.bytesPerSecond, recentSpeed)
        let isWorthMore = pace > 0 && Double(missing) > pace * Self.horizon && !window.isLimitedLocally
        if early > 0, case .growing = phase, target == 1, most > 1, window.duration >= EarlyConnections.patience,
            !window.isLimitedLocally, EarlyConnections.mayHelp(missing: missing, bytesPerSecond: pace)
        {
            return attempt(.doubling, to: 1 + min(early, most - 1), from: pace, at: now)
        }
        decide(window, isWorthMore: isWorthMore, at: now)
    }

    // MARK: Measuring

    private mutating func measure(_ sample: Sample, flowing: Int) {
        guard flowing > 0 else {
            window = nil
            return
        }
        if window != nil {
            let isUseful = window?.add(received: sample.received, localWork: sample.localWork, at: sample.at)
            if isUseful != true { window = nil }
            return
        }
        guard isReady(flowing: flowing, at: sample.at) else { return }
        // Begins at the last tick if that was recent, so that the window includes the time in which the first bytes
        // arrived.
        if let last = recent.last, let aimedAt, last.at >= aimedAt, last.received <= sample.received,
            sample.at - last.at < .milliseconds(350)
        {
            window = FlowWindow(received: last.received, localWork: last.localWork, at: last.at)
            _ = window?.add(received: sample.received, localWork: sample.localWork, at: sample.at)
        } else {
            window = FlowWindow(received: sample.received, localWork: sample.localWork, at: sample.at)
        }
    }

    /// Returns whether the wanted number of connections flows, or is not waited for any longer.
    private func isReady(flowing: Int, at now: Instant) -> Bool {
        // After a step back, surplus connections still flow for a while. Until they end, the measured speed is that of
        // more than `target` connections and does not count.
        if case .settled = phase, flowing > target, let aimedAt { return now - aimedAt >= Self.runningOut }
        guard let aimedAt, flowing < target else { return true }
        return now - aimedAt >= Self.patience
    }

    private mutating func remember(_ sample: Sample) {
        if let last = recent.last, sample.received < last.received { recent.removeAll() }
        // Keeps the list short if ticks are frequent.
        if recent.count >= 2, sample.at - recent[recent.count - 2].at < .milliseconds(100) { recent.removeLast() }
        recent.append(sample)
        while recent.count > 2, sample.at - recent[1].at >= .seconds(2) { recent.removeFirst() }
    }

    /// Bytes per second over the last two seconds.
    private var recentSpeed: Double {
        guard let first = recent.first, let last = recent.last, last.at > first.at else { return 0 }
        return Double(last.received - first.received) / (last.at - first.at).seconds
    }

    // MARK: Deciding

    private mutating func decide(_ window: FlowWindow, isWorthMore: Bool, at now: Instant) {
        switch phase {
        case .growing:
            guard target < most else { return settle(at: now) }
            if isWorthMore, window.duration >= Self.windows.clear {
                double(window, at: now)
            } else if window.duration >= Self.settledWindow {
                self.window = nil
            }
        case .trying(let trial) where trial.kind == .climb:
            judgeClimb(trial, window, at: now)
        case .trying(let trial):
            judgeDoubling(trial, window, isWorthMore: isWorthMore, at: now)
        case .settled(let settled):
            reconsider(settled, window, isWorthMore: isWorthMore, at: now)
        }
    }

    private mutating func double(_ window: FlowWindow, at now: Instant) {
        let isBrief = window.duration < Self.windows.none
        attempt(.doubling, to: 2 * target, from: window.bytesPerSecond, isBrief: isBrief, at: now)
    }

    private mutating func judgeDoubling(_ trial: Trial, _ window: FlowWindow, isWorthMore: Bool, at now: Instant) {
        guard window.duration >= Self.windows.clear else { return }
        let gain = window.bytesPerSecond / trial.speed - 1
        let needed = Self.gainNeeded(from: trial.count, to: target)
        let isProven = gain >= needed * 5 / 3 || (gain >= needed && window.duration >= Self.windows.gain)
        if isProven {
            phase = .growing
            worthwhile = max(worthwhile, target)
            return decide(window, isWorthMore: isWorthMore, at: now)
        }
        if window.isIdling, target < most, isWorthMore {
            // The link idles, so more connections may help although no gain is proven. Doubles again and compares with
            // the same earlier count.
            return aim(at: min(2 * target, most), at: now)
        }
        guard window.duration >= Self.windows.none else { return }
        if gain < -Self.harm, !isBursting {
            isHarmful = true
            aim(at: trial.count, at: now)
            return settle(speed: trial.speed, at: now)
        }
        // The earlier speed may have been a burst, because some servers send to a new connection faster at first. Too
        // many connections do less harm than too few, so the next doubling is compared with this count.
        if trial.isBrief, isWorthMore, target < most {
            return attempt(.doubling, to: 2 * target, from: window.bytesPerSecond, at: now)
        }
        if trial.isBrief, isBursting { return settle(at: now) }
        let rejected = Rejected(count: target, speed: window.bytesPerSecond)
        aim(at: trial.count, at: now)
        settle(speed: trial.speed, rejected: trial.kind == .doubling ? rejected : nil, at: now)
    }

    private mutating func judgeClimb(_ trial: Trial, _ window: FlowWindow, at now: Instant) {
        guard window.duration >= Self.settledWindow else { return }
        host.endProbe(at: now)
        let speed = window.bytesPerSecond
        let gain = speed / trial.speed - 1
        guard gain >= Self.gainNeeded(from: trial.count, to: target) else {
            climbWait = min(climbWait * 2, Self.longestClimbWait)
            aim(at: trial.count, at: now)
            return settle(speed: trial.speed, at: now)
        }
        climbWait = Self.firstClimbWait
        let isWholeShare = gain * Double(trial.count) >= 0.75
        if isWholeShare, trial.count <= Self.few, 2 * target <= most {
            // The added connection is about as fast as each earlier one, so several more may help.
            phase = .growing
            self.window = nil
        } else {
            settle(speed: speed, at: now)
        }
    }

    private mutating func reconsider(_ settled: Settled, _ window: FlowWindow, isWorthMore: Bool, at now: Instant) {
        guard window.duration >= Self.settledWindow else { return }
        let speed = window.bytesPerSecond
        self.window = nil
        var next = settled
        next.rejected = nil
        next.speed = settled.speed.map { $0 + (speed - $0) / 4 } ?? speed
        phase = .settled(next)
        guard isWorthMore else { return }
        if let rejected = settled.rejected, rejected.count <= most,
            rejected.speed >= speed * (1 + Self.gainNeeded(from: target, to: rejected.count))
        {
            // The higher count was better. Its trial was compared with a burst of the server.
            return attempt(.secondThought, to: rejected.count, from: speed, at: now)
        }
        if let before = settled.speed, speed >= before * 1.5, target <= Self.few, target < most {
            // The link became faster.
            return attempt(.doubling, to: 2 * target, from: speed, at: now)
        }
        guard now >= settled.nextClimb else { return }
        if target >= most, target < ceiling, host.mayProbe(at: now) { host.beginProbe() }
        if target < most { attempt(.climb, to: target + 1, from: speed, at: now) }
    }

    /// Returns the gain that a higher count must bring, as a share of the speed of the lower count. A doubling must
    /// bring 30 %, and one more connection a proportional share. A gain below 3 % cannot be told from noise.
    private static func gainNeeded(from count: Int, to more: Int) -> Double {
        min(max(0.3 * Double(more - count) / Double(count), 0.03), 0.3)
    }

    // MARK: Changing

    /// Largest number of connections allowed now.
    private var most: Int { min(ceiling, host.most ?? ceiling) }

    private mutating func attempt(
        _ kind: Trial.Kind,
        to count: Int,
        from speed: Double,
        isBrief: Bool = false,
        at now: Instant
    ) {
        phase = .trying(Trial(kind: kind, count: target, speed: speed, isBrief: isBrief))
        aim(at: min(count, most), at: now)
    }

    private mutating func settle(speed: Double? = nil, rejected: Rejected? = nil, at now: Instant) {
        phase = .settled(Settled(nextClimb: now + climbWait, speed: speed, rejected: rejected))
        window = nil
    }

    private mutating func aim(at count: Int, at now: Instant) {
        if count > target { isHarmful = false }
        target = max(count, 1)
        aimedAt = now
        window = nil
    }

    /// Raises `target` if the host's limit held it back and the host turns out to allow more.
    private mutating func followHost(flowing: Int, at now: Instant) {
        let before = host.limit
        host.tick(flowing: flowing, at: now)
        guard let before, let limit = host.limit, limit > before, target == before else { return }
        aim(at: min(limit, ceiling), at: now)
    }
}
