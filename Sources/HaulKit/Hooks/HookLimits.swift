/// Limits of the programs, webhooks and notifications of hooks. ``HookRunner`` applies them.
package struct HookLimits: Sendable, Hashable {
    /// Largest number of programs that run at once; others wait. Default: 4.
    package var commandsAtOnce = 4
    /// Time limit of a program. ``HookRunner`` sets it to ``Downloader/Configuration/Hooks/commandTime``.
    var commandTime = Duration.seconds(60)
    /// Largest number of waiting deliveries: of all programs together, of all notifications, and of each webhook.
    /// Beyond it the oldest is dropped. Default: 1,000.
    package var mostWaiting = 1000
    /// Time limit for the response of a webhook's receiver. Default: 15 s.
    package var webhookTime = Duration.seconds(15)
    /// Number of attempts of a webhook's delivery, and the delays between them. ``RetryPolicy/attempts`` is the
    /// number of attempts that may fail before the last one: 5 by default, with a ``RetryPolicy/base`` of 1 s.
    package var webhookRetry = RetryPolicy()
    /// Time for which ``Downloader/finishHooks()`` still repeats failed webhooks. Default: 60 s.
    package var finalRetryTime = Duration.seconds(60)

    /// Makes limits with the default of each property.
    package init() {
        webhookRetry.attempts = 5
        webhookRetry.base = .seconds(1)
    }

    /// Time between SIGTERM and SIGKILL.
    static let grace = Duration.seconds(3)

    /// Waits between attempts to start a program that is open for writing. The waits double, and take a second in all.
    static let firstWaitForBusyProgram = Duration.milliseconds(8)
    static let lastWaitForBusyProgram = Duration.milliseconds(512)

    /// Limits a time to 30 days, because the layers below trap on overflow.
    static func bounded(_ time: Duration) -> Duration { min(max(time, .zero), .seconds(30 * 86_400)) }
}
