internal import Crypto
internal import Foundation

/// The header fields of a webhook's request.
enum WebhookHeaders {
    /// - Parameters:
    ///   - delivery: the same for each attempt, so that a receiver recognises a repeated delivery.
    ///   - time: of this attempt, so that a receiver may refuse a request that was recorded and is sent again later.
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
