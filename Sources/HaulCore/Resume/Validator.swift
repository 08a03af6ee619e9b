internal import Foundation

/// The values that a server sends to tell versions of a representation apart (RFC 9110 §8.8).
package struct Validator: Sendable, Hashable, Codable {
    package var entityTag: EntityTag?
    /// The `Last-Modified` value, verbatim, because it is sent back and compared as text.
    package var lastModified: String?
    /// Whether the date is a strong validator: it lies at least a second before the `Date` of its answer (RFC 9110
    /// §8.8.2.2), and not before 1990.
    package var lastModifiedIsStrong: Bool

    package init(entityTag: EntityTag? = nil, lastModified: String? = nil, lastModifiedIsStrong: Bool = false) {
        self.entityTag = entityTag
        self.lastModified = lastModified
        self.lastModifiedIsStrong = lastModifiedIsStrong
    }

    package init(_ head: ResponseHead) {
        entityTag = EntityTag(fields: head.headers["ETag"])
        lastModified = Self.only(head.headers["Last-Modified"])
        if let changed = lastModified.flatMap(HTTPDate.parse),
            let answered = Self.only(head.headers["Date"]).flatMap(HTTPDate.parse), changed >= Self.firstDate
        {
            lastModifiedIsStrong = answered.timeIntervalSince(changed) >= 1
        } else {
            lastModifiedIsStrong = false
        }
    }

    /// The first of January 1990. An earlier date does not tell versions apart, because reproducible builds and images
    /// give it to all versions of a file.
    private static let firstDate = Date(timeIntervalSince1970: 631_152_000)

    /// Returns the value of a field; `nil` if two fields differ, since neither can be trusted.
    private static func only(_ values: [String]) -> String? {
        guard let first = values.first, values.dropFirst().allSatisfy({ $0 == first }) else { return nil }
        return first
    }

    var strongTag: EntityTag? { entityTag.flatMap { $0.isWeak ? nil : $0 } }
    /// The tag, or else the date, for a conditional request; `nil` if neither follows its grammar.
    package var text: String? {
        if let entityTag, entityTag.isWellFormed { return entityTag.text }
        return lastModified.flatMap { HTTPDate.parse($0) == nil ? nil : $0 }
    }
    package var isEmpty: Bool { entityTag == nil && lastModified == nil }

    /// Whether the validator tells versions apart by itself: a strong tag or, if there is no tag, a strong date. A date
    /// beside a weak or malformed tag does not count, because the server itself does not vouch for the bytes.
    var isStrong: Bool { strongTag != nil || entityTag == nil && lastModified != nil && lastModifiedIsStrong }

    /// Returns whether a later answer with the validator `later` is of the same bytes. Both answers must have the same
    /// strong validator (RFC 9110 §15.3.7.3).
    package func isProven(by later: Validator) -> Bool {
        guard isStrong else { return false }
        if let strongTag { return later.entityTag.map(strongTag.stronglyMatches) ?? false }
        // A new tag that is weak makes the date worthless.
        return later.lastModified == lastModified && (later.entityTag == nil || later.strongTag != nil)
    }

    /// Returns whether a later answer has a tag or a date in common with this validator, and nothing that contradicts
    /// it.
    func agrees(with later: Validator) -> Bool {
        guard compare(later) != .different else { return false }
        let hasTags = entityTag != nil && later.entityTag != nil
        let hasDates = lastModified != nil && later.lastModified != nil
        return hasTags || hasDates
    }

    /// Result of the comparison of a later answer's validator with this one.
    package enum Comparison: Sendable, Equatable {
        /// The strong tags are the same, and so are the bytes.
        case same
        /// Nothing contradicts the same version, and nothing proves it. The bytes have to be compared.
        case maybe
        case different
    }

    package func compare(_ later: Validator) -> Comparison {
        if let mine = entityTag, let theirs = later.entityTag {
            if mine.stronglyMatches(theirs) { return .same }
            // A server that compresses on the fly or is behind a cache may weaken its own tag, so the opaque part
            // decides.
            if !mine.weaklyMatches(theirs) { return .different }
        }
        if let mine = lastModified, let theirs = later.lastModified, mine != theirs { return .different }
        return .maybe
    }
}
