internal import Crypto
internal import Foundation
internal import Logging

/// Sends one POST request. Redirects are not followed.
protocol WebhookPoster: Sendable {
    /// - Parameter now: the time that a `Retry-After` date is compared with.
    func post(_ body: [UInt8], to url: URL, _ headers: [HeaderField], within limit: Duration, now: Date) async
        -> WebhookAnswer
}

/// Delivers messages to one receiver. A ``WebhookRetryPlan`` decides how often each message is sent.
struct Webhook: Sendable {
    let url: URL
    let secret: String?
    let limits: HookLimits
    let poster: any WebhookPoster
    let time: EngineClock
    let logger: Logger
    let deadline: WebhookDeadline
    var onFailure: (@Sendable (String) -> Void)?

    /// Returns when the receiver has taken the message, when the message is given up, or when the task is cancelled.
    func deliver(_ message: HookMessage, as delivery: UUID, seed: UInt64) async {
        // An earlier message could not be delivered, and no time is left to wait for the receiver.
        if deadline.undelivered > 0 { return deadline.giveUp() }
        let body = message.json
        var plan = WebhookRetryPlan(limits.webhookRetry, seed: seed)
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
                let text = "\(name(message, delivery)) is given up: \(answer.sentence(url))"
                logger.debug("\(text)")
                onFailure?(text)
                return deadline.refuse()
            case .retry(let wait):
                logger.debug("\(name(message, delivery)) again in \(wait): \(answer.sentence(url))")
                guard await deadline.wait(HookLimits.bounded(wait), time) else { return deadline.giveUp() }
            }
        }
    }
}

extension Webhook {
    /// Returns the name of a delivery for the log. Shows no path and no query of the receiver, which may be secrets.
    private func name(_ message: HookMessage, _ delivery: UUID) -> String {
        let subject =
            switch message.subject {
            case .download(let download): " of \(download.id)"
            case .group(let name, _): " of the group \(VisibleText.line(name))"
            case .all: ""
            }
        return "webhook \(Origin(url).text): \(delivery) (\(message.event.rawValue)\(subject))"
    }
}

/// The header fields of a webhook's request.
enum WebhookHeaders {
    /// - Parameters:
    ///   - delivery: id of the delivery. Each attempt has the same id, so that a receiver recognises a repeated
    ///     delivery.
    ///   - time: time of this attempt, so that a receiver may refuse a recorded request that is sent again later.
    static func fields(_ event: HookEvent, delivery: UUID, time: Date, body: [UInt8], secret: String?)
        -> [HeaderField]
    {
        let timestamp = "\(Int64(exactly: time.timeIntervalSince1970.rounded(.down)) ?? 0)"
        let fields = [
            ("Content-Type", "application/json"), ("Haul-Event", event.rawValue),
            ("Haul-Delivery", delivery.uuidString.lowercased()), ("Haul-Timestamp", timestamp),
        ]
        let signed = secret.map { [("Haul-Signature", signature(timestamp, body, secret: $0))] } ?? []
        return (fields + signed).compactMap { HeaderField($0, $1) }
    }

    /// HMAC-SHA256 (RFC 2104, FIPS 180-4) of `timestamp.body`.
    static func signature(_ timestamp: String, _ body: [UInt8], secret: String) -> String {
        var code = HMAC<SHA256>(key: SymmetricKey(data: Array(secret.utf8)))
        code.update(data: Array("\(timestamp).".utf8))
        code.update(data: body)
        return "sha256=" + code.finalize().hexadecimal
    }
}
