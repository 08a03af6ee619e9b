internal import Foundation
internal import HaulKit

/// The result of evaluating the conditions and the range of a request.
enum FileOutcome {
    case preconditionFailed, notModified, notSatisfiable, whole
    case part(Range<Int64>)
}

extension FileResource {
    /// Evaluates the conditions in the order of RFC 9110, section 13.2.2, and then the range.
    func outcome(of request: TestRequest) -> FileOutcome {
        if let condition = request["If-Match"] {
            guard matches(condition, isWeak: false) else { return .preconditionFailed }
        } else if let limit = date(request["If-Unmodified-Since"]), let changed = date(lastModified), changed > limit {
            return .preconditionFailed
        }
        if let condition = request["If-None-Match"] {
            if matches(condition, isWeak: true) { return .notModified }
        } else if let limit = date(request["If-Modified-Since"]), let changed = date(lastModified), changed <= limit {
            return .notModified
        }
        return outcome(ofRangeIn: request)
    }

    private func outcome(ofRangeIn request: TestRequest) -> FileOutcome {
        // A range has a meaning for GET only.
        guard honoursRange, request.method == "GET", let range = request.range else { return .whole }
        if let condition = request["If-Range"] {
            if ignoresRangeWhenIfRangePresent { return .whole }
            if honoursIfRange, !holds(ifRange: condition) { return .whole }
        }
        guard range.first < content.count else { return .notSatisfiable }
        return .part(range.first..<min(range.last ?? .max, content.count - 1) + 1)
    }

    /// Evaluates `If-Range`. A weak tag never matches; a date matches only by its exact characters.
    private func holds(ifRange condition: String) -> Bool {
        if condition.hasPrefix("\"") { return condition == etag }
        return !condition.hasPrefix("W/") && condition == lastModified
    }

    /// Compares ``etag`` with the tags of a list. Separates the tags at every comma, because the tags of tests contain
    /// none.
    private func matches(_ list: String, isWeak: Bool) -> Bool {
        if list == "*" { return true }
        guard let etag, isWeak || !etag.hasPrefix("W/") else { return false }
        let tags = list.split(separator: ",").map { $0.drop { $0 == " " }.prefix { $0 != " " } }
        return tags.contains { isWeak ? opaque($0) == opaque(etag[...]) : $0 == etag[...] }
    }

    private func opaque(_ tag: Substring) -> Substring {
        tag.hasPrefix("W/") ? tag.dropFirst(2) : tag
    }

    private func date(_ value: String?) -> Date? {
        value.flatMap(HTTPDate.parse)
    }
}
