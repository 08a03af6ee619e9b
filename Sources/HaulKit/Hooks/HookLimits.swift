/// How much hooks may cost.
public struct HookLimits: Sendable, Hashable {
    /// Commands that run at once; others wait.
    public var commandsAtOnce = 4
    /// Time that a command may take. Then it and what it started get SIGTERM, and SIGKILL three seconds later.
    public var commandTime = Duration.seconds(60)
    /// Deliveries that wait: of all commands together, and of each webhook. Beyond that the oldest is dropped.
    public var mostWaiting = 1000
    /// Time that a webhook's receiver has for its answer.
    public var webhookTime = Duration.seconds(15)
    /// How often, and after which waits, a delivery is tried again. ``RetryPolicy/attempts`` are those that may fail
    /// before the last one.
    public var webhookRetry = RetryPolicy()
    /// Time that ``Downloader/shutDown()`` gives to deliveries that are under way or wait.
    public var shutDownTime = Duration.seconds(10)

    public init() {
        webhookRetry.attempts = 5
        webhookRetry.base = .seconds(1)
    }

    /// Between SIGTERM and SIGKILL.
    static let grace = Duration.seconds(3)

    /// Between attempts to start a program that is open for writing: doubled each time, a second in all.
    static let firstWaitForBusyProgram = Duration.milliseconds(8)
    static let lastWaitForBusyProgram = Duration.milliseconds(512)

    /// A time as the layers below can count it: they trap on what overflows them.
    static func bounded(_ time: Duration) -> Duration { min(max(time, .zero), .seconds(30 * 86_400)) }
}
