internal import Foundation
internal import Logging
internal import Synchronization

/// Sends messages to hooks. Programs share one queue, desktop notifications share another, and each webhook has its
/// own. The caller of ``tell(_:)`` never waits, and gets no failure.
final class HookRunner: Sendable {
    private struct State {
        var hooks: [Downloader.Hook]
        /// One for each webhook: each receiver gets its messages in order, and a slow receiver delays no other.
        var webhooks: [Downloader.Hook: Receiver] = [:]
        var random: SplitMix64
        /// Number of messages that were dropped: their queue was full or closed.
        var dropped = 0
    }

    private struct Receiver {
        let url: URL
        let lane: DeliveryQueue
        let deadline = WebhookDeadline()
    }

    private let limits: HookLimits
    private let notifier: (any Notifier)?
    private let poster: (any WebhookPoster)?
    private let time: EngineClock
    private let logger: Logger
    private let onFailure: (@Sendable (String) -> Void)?
    private let commands: DeliveryQueue
    private let notifications: DeliveryQueue
    private let state: Mutex<State>

    /// - Parameter poster: sends the requests of webhooks; `nil` to send none.
    init(_ configuration: Downloader.Configuration, poster: (any WebhookPoster)?, time: EngineClock, seed: UInt64) {
        var limits = configuration.hooks.limits
        limits.commandTime = configuration.hooks.commandTime
        self.limits = limits
        notifier = configuration.hooks.notifier
        logger = configuration.telemetry.logger
        onFailure = configuration.hooks.onFailure
        self.poster = poster
        self.time = time
        commands = DeliveryQueue(width: limits.commandsAtOnce, mostWaiting: limits.mostWaiting)
        notifications = DeliveryQueue(width: 1, mostWaiting: limits.mostWaiting)
        state = Mutex(State(hooks: configuration.hooks.actions, random: SplitMix64(seed: seed)))
    }

    /// Whether there is any hook.
    var isWanted: Bool { state.withLock { !$0.hooks.isEmpty } }

    /// Whether any hook wants `event`.
    func isWanted(_ event: HookEvent) -> Bool { state.withLock { $0.hooks.contains { $0.events.contains(event) } } }

    /// Replaces the hooks. Messages to the previous hooks are still delivered.
    func replace(with hooks: [Downloader.Hook]) {
        state.withLock { state in
            state.hooks = hooks
            state.webhooks = state.webhooks.filter { hooks.contains($0.key) || !$0.value.lane.isIdle }
        }
    }

    func tell(_ message: HookMessage) {
        for hook in state.withLock(\.hooks) where hook.events.contains(message.event) {
            // Without a poster or a notifier, `send` and `show` return `true`: they drop no message.
            let isTaken =
                switch hook {
                case .command(let path, let arguments, _): run(path, arguments, message)
                case .webhook(let url, let secret, _): send(to: url, secret, message, hook)
                case .desktopNotification: show(message)
                }
            if !isTaken { noteDropped() }
        }
    }

    /// Waits for the running and the waiting deliveries.
    ///
    /// - Returns: `false` if the time was up first.
    func settle(within limit: Duration) async -> Bool {
        let lanes = lanes.map(\.lane)
        if lanes.allSatisfy(\.isIdle) { return true }
        let sleep = time.sleep
        return await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                for lane in lanes { await lane.idle() }
                return true
            }
            group.addTask {
                // `sleep` fails only on cancellation, and then the result is not used.
                try? await sleep(HookLimits.bounded(limit))
                return false
            }
            let isSettled = await group.next() ?? true
            group.cancelAll()
            return isSettled
        }
    }

    /// Waits until all deliveries have ended, for 30 days at most. Programs have their own time limit, and webhooks are
    /// repeated for at most ``HookLimits/finalRetryTime``. If a delivery fails after that time, or would have to wait
    /// beyond it, its receiver gets no further messages.
    ///
    /// - Returns: the messages that were not delivered.
    func settleAtLast() async -> [UndeliveredMessages] {
        let deadline = time.now() + HookLimits.bounded(limits.finalRetryTime)
        for receiver in state.withLock({ $0.webhooks.values.map(\.self) }) { receiver.deadline.end(by: deadline) }
        _ = await settle(within: .seconds(30 * 86_400))
        return state.withLock { $0.webhooks.values.map(\.self) }.filter { $0.deadline.lost > 0 }
            .map { UndeliveredMessages(receiver: Origin($0.url).text, count: $0.deadline.lost) }
            .sorted { $0.receiver < $1.receiver }
    }

    /// Waits as ``settle(within:)``, then closes all queues: drops what is left, ends running programs, accepts no more
    /// messages, and logs what was dropped.
    func finish(within limit: Duration) async {
        _ = await settle(within: limit)
        for (lane, receiver) in lanes {
            let dropped = lane.close()
            guard dropped > 0 else { continue }
            logger.warning("\(dropped) \(dropped == 1 ? "message" : "messages") to \(receiver) did not end in time.")
        }
        // Gives the programs time to end, because they have just got SIGTERM.
        _ = await settle(within: HookLimits.grace + .seconds(1))
    }

    // MARK: Deliveries

    /// Counts a dropped message. Logs the number of dropped messages at the first one, and each time that the number
    /// has grown tenfold.
    private func noteDropped() {
        let count = state.withLock { state in
            state.dropped += 1
            return state.dropped
        }
        guard [1, 10, 100, 1000, 10_000, 100_000, 1_000_000].contains(count) else { return }
        logger.warning(
            "Messages to hooks were dropped, \(count) until now: no more than \(limits.mostWaiting) wait for a receiver."
        )
    }

    /// All queues, with their receivers for the log.
    private var lanes: [(lane: DeliveryQueue, receiver: String)] {
        [(commands, "programs of hooks"), (notifications, "desktop notifications")]
            + state.withLock { $0.webhooks.values.map { ($0.lane, "the webhook \(Origin($0.url).text)") } }
    }

    private func run(_ path: String, _ arguments: [String], _ message: HookMessage) -> Bool {
        let command = HookCommand(
            path: path,
            arguments: arguments,
            limits: limits,
            time: time,
            logger: logger,
            onFailure: onFailure
        )
        return commands.add { await command.run(message) }
    }

    private func send(to url: URL, _ secret: String?, _ message: HookMessage, _ hook: Downloader.Hook) -> Bool {
        guard let poster else { return true }
        let (receiver, seed) = state.withLock { state in
            let receiver =
                state.webhooks[hook]
                ?? Receiver(url: url, lane: DeliveryQueue(width: 1, mostWaiting: limits.mostWaiting))
            state.webhooks[hook] = receiver
            return (receiver, state.random.next())
        }
        let webhook = Webhook(
            url: url,
            secret: secret,
            limits: limits,
            poster: poster,
            time: time,
            logger: logger,
            deadline: receiver.deadline,
            onFailure: onFailure
        )
        let delivery = UUID()
        return receiver.lane.add { await webhook.deliver(message, as: delivery, seed: seed) }
    }

    private func show(_ message: HookMessage) -> Bool {
        guard let notifier else { return true }
        let (notice, logger) = (message.notice, logger)
        return notifications.add {
            if await !notifier.notify(title: notice.title, body: notice.body) {
                logger.debug("desktop notification: nobody shows any")
            }
        }
    }
}
