internal import HTTPTypes

/// The single range that a request asks for (RFC 9110 §14.2). Several ranges, an unreadable range, or an `If-Range`
/// field with another tag count as `none`.
enum RequestedRange: Equatable {
    case none
    case some(Range<Int64>)
    case unsatisfied

    init(_ head: HTTPRequest, length: Int64, entityTag: String) {
        guard let field = head.headerFields[.range], field.lowercased().hasPrefix("bytes=") else {
            self = .none
            return
        }
        if let condition = head.headerFields[.ifRange], condition != entityTag {
            self = .none
            return
        }
        self.init(String(field.dropFirst(6)), length: length)
    }

    private init(_ spec: String, length: Int64) {
        let parts = spec.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false).map {
            $0.filter { $0 != " " }
        }
        guard !spec.contains(","), parts.count == 2, parts.allSatisfy({ $0.allSatisfy { $0.isASCII && $0.isNumber } }),
            parts.allSatisfy({ $0.count <= 18 })
        else {
            self = .none
            return
        }
        switch (Int64(parts[0]), Int64(parts[1])) {
        case (let first?, let last) where parts[1].isEmpty || last != nil:
            guard first <= last ?? first else {
                self = .none
                return
            }
            self = first < length ? .some(first..<min(length, (last ?? length - 1) + 1)) : .unsatisfied
        case (nil, let count?) where parts[0].isEmpty:
            self = count > 0 && length > 0 ? .some(max(0, length - count)..<length) : .unsatisfied
        default:
            self = .none
        }
    }
}
