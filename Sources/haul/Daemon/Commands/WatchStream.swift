/// The event stream that a view follows, and the time since the daemon last answered. Each stream has a number, so that
/// late inputs of an earlier stream are recognized.
struct WatchStream {
    private var current: (number: Int, task: Task<Void, Never>)?
    private var lastNumber = 0
    private var lastHeard = ContinuousClock.now
    private var lastOpened: ContinuousClock.Instant?
    /// When the daemon stopped answering; `nil` while it answers.
    private var awaySince: ContinuousClock.Instant?
    private var isOutdated = false

    /// Silence after which a stream counts as lost. The daemon sends something each 15 seconds.
    private static let silence = Duration.seconds(40)
    /// Time for which a view without a screen waits for a daemon that is away.
    private static let patience = Duration.seconds(60)

    var isAway: Bool { awaySince != nil }

    /// Whether the daemon has been away for longer than a view without a screen waits.
    var isAwayTooLong: Bool { awaySince.map { $0 + Self.patience <= .now } ?? false }

    var isSilent: Bool { lastHeard + Self.silence < .now }

    /// Whether a stream should be opened, because there is none or because the present one misses changes.
    var isDue: Bool {
        guard let lastOpened else { return current == nil || isOutdated }
        let age = ContinuousClock.now - lastOpened
        return current == nil && age > .seconds(1) || isOutdated && age > .milliseconds(500)
    }

    func isCurrent(_ number: Int) -> Bool { number == current?.number }

    /// Replaces the stream by a new one, which `begin` starts with its number.
    mutating func open(_ begin: (Int) -> Task<Void, Never>) {
        close()
        isOutdated = false
        lastOpened = .now
        lastHeard = .now
        lastNumber += 1
        current = (lastNumber, begin(lastNumber))
    }

    func close() { current?.task.cancel() }

    mutating func noteHeard() { lastHeard = .now }

    /// Notes that the daemon has begun a stream.
    mutating func noteAnswer() { awaySince = nil }

    /// Notes that the present stream misses changes.
    mutating func markOutdated() { isOutdated = true }

    /// Gives up the present stream.
    mutating func lose() {
        close()
        current = nil
        lastHeard = .now
        if awaySince == nil { awaySince = .now }
    }
}
