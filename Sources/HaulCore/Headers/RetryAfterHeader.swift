package import Foundation

/// Parses `Retry-After`, the delay that a server asks for before the next request (RFC 9110 §10.2.3).
///
/// Other files apply the delay: `RetryPolicy` before the next attempt of a download, a document or a webhook;
/// `RetryAfterPause` before further additional connections to a host; `StreamRun` before the next request for a
/// segment; `HostPacer` of HaulFleet for all requests to a host.
package enum RetryAfterHeader {
    /// Upper bound of every delay, whatever the server says. ``RetryPolicy/retryAfterCap`` may be lower.
    package static let maximum: Duration = .seconds(maximumSeconds)

    private static let maximumSeconds: Int64 = 365 * 86_400

    /// - Returns: the delay from `now`; zero for a date in the past, `nil` for neither seconds nor an HTTP-date.
    package static func delay(_ text: String, now: Date) -> Duration? {
        if !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) {
            // A number beyond `Int64` is a very long time, not an error.
            return .seconds(min(Int64(text) ?? maximumSeconds, maximumSeconds))
        }
        guard let date = HTTPDate.parse(text, now: now) else { return nil }
        let seconds = date.timeIntervalSince(now)
        guard seconds > 0 else { return .zero }
        return seconds < Double(maximumSeconds) ? .seconds(seconds) : maximum
    }
}

extension HeaderFields {
    /// Returns the delay from `now` that the first `Retry-After` field asks for; `nil` if it is missing or unreadable.
    package func retryAfter(now: Date) -> Duration? {
        first(name: "Retry-After").flatMap { RetryAfterHeader.delay($0, now: now) }
    }
}
