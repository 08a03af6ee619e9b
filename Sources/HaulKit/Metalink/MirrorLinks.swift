internal import Foundation

/// Where else a server says that its file can be had: Metalink/HTTP, RFC 6249.
///
/// Only what the first server says may be believed; the mirrors' own links do not count (RFC 6249, 3). What comes from
/// a mirror must be proved by a digest of the whole file from the first server.
struct MirrorLinks: Sendable, Hashable {
    struct Mirror: Sendable, Hashable {
        var source: Metalink.Source
        /// The mirror gives the file the entity tag that the first server gives it (`pref`): RFC 6249, 3.3.
        var sharesEntityTags: Bool
    }

    /// No more of each kind are kept.
    static let maximum = 64

    /// `rel=duplicate`, best first: by priority, then as they stand in the answer. Without user info, each URL once,
    /// and not the one that was asked.
    let mirrors: [Mirror]
    /// Metalink documents about the file: `rel=describedby; type="application/metalink4+xml"`.
    let descriptions: [URL]

    /// - Parameters:
    ///   - fields: the lines of the answer's `Link` field.
    ///   - base: the URL that was answered, to which the references are relative.
    init(_ fields: [String], base: URL) {
        // With an anchor, a link is about something else than the answer: RFC 8288, 3.2.
        let links = LinkHeader.parse(fields).filter { $0["anchor"] == nil }
        let mirrors = links.filter { $0.relations.contains("duplicate") }.compactMap { Self.mirror($0, base) }
        let sorted = mirrors.enumerated().sorted {
            ($0.element.source.priority, $0.offset) < ($1.element.source.priority, $1.offset)
        }
        var seen: Set<String> = [base.absoluteURL.withoutUserInfo().absoluteString]
        self.mirrors = Array(
            sorted.map(\.element).filter { seen.insert($0.source.url.absoluteString).inserted }.prefix(
                Self.maximum
            )
        )
        var seenDescriptions: Set<String> = []
        let descriptions = links.filter(Self.isDescription).compactMap { Self.url($0, base)?.url }
        self.descriptions = Array(
            descriptions.filter { seenDescriptions.insert($0.absoluteString).inserted }.prefix(Self.maximum)
        )
    }

    private static func mirror(_ link: LinkHeader, _ base: URL) -> Mirror? {
        guard let url = url(link, base) else { return nil }
        let source = Metalink.Source(
            url,
            priority: link["pri"].flatMap(Metalink.Source.priority) ?? Metalink.Source.lowestPriority,
            location: link["geo"].flatMap(Metalink.Source.location)
        )
        return Mirror(source: source, sharesEntityTags: link["pref"] != nil)
    }

    private static func isDescription(_ link: LinkHeader) -> Bool {
        let type = (link["type"] ?? "").prefix { $0 != ";" }
        return link.relations.contains("describedby")
            && type.trimmingCharacters(in: .whitespaces).lowercased() == "application/metalink4+xml"
    }

    private static func url(_ link: LinkHeader, _ base: URL) -> HTTPURL? {
        Metalink.Source.url(link.target, relativeTo: base)?.withoutUserInfo
    }
}
