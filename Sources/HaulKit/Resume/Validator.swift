internal import Foundation
internal import NIOHTTP1

/// What a server said to tell versions of a representation apart (RFC 9110 §8.8).
struct Validator: Sendable, Hashable, Codable {
    var entityTag: EntityTag?
    /// The `Last-Modified` value, verbatim: it is only ever sent back or compared as text.
    var lastModified: String?
    /// Whether the date can serve as a strong validator: the response is at least a second younger than the change
    /// (RFC 9110 §8.8.2.2).
    var lastModifiedIsStrong: Bool

    init(entityTag: EntityTag? = nil, lastModified: String? = nil, lastModifiedIsStrong: Bool = false) {
        self.entityTag = entityTag
        self.lastModified = lastModified
        self.lastModifiedIsStrong = lastModifiedIsStrong
    }

    init(_ head: ResponseHead) {
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

    /// The first of January 1990. Reproducible builds and images give all versions of a file one date, of the time before the web.
    private static let firstDate = Date(timeIntervalSince1970: 631_152_000)

    /// Returns the value of a field; `nil` where two fields differ, since neither can be believed.
    private static func only(_ values: [String]) -> String? {
        guard let first = values.first, values.dropFirst().allSatisfy({ $0 == first }) else { return nil }
        return first
    }

    var strongTag: EntityTag? { entityTag.flatMap { $0.isWeak ? nil : $0 } }
    var isEmpty: Bool { entityTag == nil && lastModified == nil }

    /// Whether it tells versions apart by itself: a strong tag or, where there is no tag, a strong date. A date beside a weak
    /// or malformed tag does not count: the server itself says that it cannot vouch for bytes.
    var isStrong: Bool { strongTag != nil || entityTag == nil && lastModified != nil && lastModifiedIsStrong }

    /// Whether a later answer of this validator is of the same bytes, which takes the same strong validator in both (RFC 9110
    /// §15.3.7.3).
    func isProven(by later: Validator) -> Bool {
        guard isStrong else { return false }
        if let strongTag { return later.entityTag.map(strongTag.stronglyMatches) ?? false }
        // A tag that appears and vouches for nothing takes the date's word away.
        return later.lastModified == lastModified && (later.entityTag == nil || later.strongTag != nil)
    }

    /// Whether a later answer at least says something of the version that agrees, and nothing that does not.
    func agrees(with later: Validator) -> Bool {
        guard compare(later) != .different else { return false }
        let hasTags = entityTag != nil && later.entityTag != nil
        let hasDates = lastModified != nil && later.lastModified != nil
        return hasTags || hasDates
    }

    /// How a later answer's validator compares with this one.
    enum Comparison: Sendable, Equatable {
        /// The same strong tag: the same bytes.
        case same
        /// Nothing contradicts, nothing proves: the bytes have to be compared.
        case maybe
        case different
    }

    func compare(_ later: Validator) -> Comparison {
        if let mine = entityTag, let theirs = later.entityTag {
            if mine.stronglyMatches(theirs) { return .same }
            // A server that compresses on the fly or sits behind a cache may weaken its own tag: the opaque part decides.
            if !mine.weaklyMatches(theirs) { return .different }
        }
        if let mine = lastModified, let theirs = later.lastModified, mine != theirs { return .different }
        return .maybe
    }
}
