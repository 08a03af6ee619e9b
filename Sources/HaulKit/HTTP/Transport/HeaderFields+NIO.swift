internal import Foundation
internal import NIOHTTP1

extension HeaderFields {
    init(_ headers: HTTPHeaders) {
        self.init(headers.map { ($0.name, $0.value) })
    }
}

extension HTTPHeaders {
    init(_ fields: HeaderFields) {
        self.init(fields.lines.map { ($0.name, $0.value) })
    }

    /// Returns the delay from `now` that the first `Retry-After` field asks for; `nil` if it is missing or unreadable.
    func retryAfter(now: Date) -> Duration? {
        HeaderFields(self).retryAfter(now: now)
    }
}
