internal import Foundation
internal import Logging

/// Sends one POST request. Redirects are not followed.
protocol WebhookPoster: Sendable {
    /// - Parameter now: the time that a `Retry-After` date is compared with.
    func post(_ body: [UInt8], to url: URL, _ headers: [HeaderField], within limit: Duration, now: Date) async
        -> WebhookAnswer
}

/// Delivers messages to one receiver. A ``DeliveryPlan`` decides how often each message is sent.
struct Webhook: Sendable {
    let url: URL
    let secret: String?
    let limits: HookLimits
    let poster: any WebhookPoster
    let time: EngineClock
    let logger: Logger
    let retries: WebhookRetries

    /// Returns when the receiver has taken the message, when the message is given up, or when the task is cancelled.
    func deliver(_ message: HookMessage, as delivery: UUID, seed: UInt64) async {
        // An earlier message could not be delivered, and no time is left to wait for the receiver.
        if retries.undelivered > 0 { return retries.giveUp() }
        let body = message.json
        var plan = DeliveryPlan(limits.webhookRetry, seed: seed)
        while !Task.isCancelled {
            let now = time.date()
            let headers = WebhookHeaders.fields(
                message.event,
                delivery: delivery,
                time: now,
                body: body,
                secret: secret
            )
            let answer = await poster.post(
                body,
                to: url,
                headers,
                within: HookLimits.bounded(limits.webhookTime),
                now: now
            )
            switch plan.next(after: answer) {
            case .delivered: return
            case .givenUp:
                logger.debug("webhook \(Origin(url).text): \(delivery) is given up, \(answer)")
                return
            case .retry(let wait):
                logger.debug("webhook \(Origin(url).text): \(delivery) again in \(wait), \(answer)")
                guard await retries.wait(HookLimits.bounded(wait), time) else { return retries.giveUp() }
            }
        }
    }
}
