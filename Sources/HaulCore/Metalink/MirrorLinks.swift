internal import Foundation

/// Other URLs of a file that its server names in `Link` fields (Metalink/HTTP, RFC 6249).
///
/// Only the first server is trusted: links in the answers of mirrors do not count (RFC 6249 §3). A digest of the whole
/// file from the first server must prove the bytes of a mirror.
struct MirrorLinks: Sendable, Hashable {
    struct Mirror: Sendable, Hashable {
        var source: Metalink.Source
        /// Whether the mirror has the same entity tags as the first server (`pref`, RFC 6249 §3.3).
        var sharesEntityTags: Bool
    }

    /// Largest number of mirrors, and of descriptions, that are kept.
    static let maximum = 64

    /// Links with `rel=duplicate`, best first: by priority, then in the order of the answer. The URLs have no user info
    /// and are unique. The answered URL is left out.
    let mirrors: [Mirror]
    /// Metalink documents about the file: `rel=describedby; type="application/metalink4+xml"`.
    let descriptions: [URL]

    /// - Parameters:
    ///   - fields: the lines of the answer's `Link` field.
    ///   - base: the URL that was answered. The references are relative to it.
    init(_ fields: [String], base: URL) {
        // A link with an anchor does not describe this answer (RFC 8288 §3.2).
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
