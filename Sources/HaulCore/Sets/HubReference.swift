package import Foundation

/// A repository of a model hub and a version of it: `hf://ORG/NAME[@REVISION]`, `hf://datasets/…`, `hf://spaces/…`.
package struct HubReference: Sendable, Hashable {
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        case model = "models"
        case dataset = "datasets"
        case space = "spaces"
    }

    package let kind: Kind
    /// `ORG/NAME`, or one part for the oldest repositories.
    package let name: String
    /// A branch, tag or commit; `nil` for the main branch.
    package let revision: String?

    package static let scheme = "hf://"
    /// Branch of a reference without a revision.
    package static let mainRevision = "main"

    /// Reads `hf://…`. A slash of the revision may be escaped.
    ///
    /// - Throws: ``DownloadError/Code/invalidURL``.
    package init(_ text: String) throws(DownloadError) {
        guard Self.isReference(text) else { throw Self.unusable(text, "It should begin with hf://.") }
        let rest = text.utf8.dropFirst(Self.scheme.utf8.count)
        let at = rest.firstIndex(of: UInt8(ascii: "@"))
        var parts = rest[..<(at ?? rest.endIndex)]
            .split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .map { String(Substring($0)) }
        var kind = Kind.model
        if parts.count > 1, let named = parts.first.flatMap(Kind.init) {
            kind = named
            parts.removeFirst()
        }
        let revision = at.map { Array(rest[$0...].dropFirst()) }
        guard !Self.isUserInfo(parts, before: revision) else {
            throw Self.unusable(
                text,
                "A reference has no user and no token in front of an @: write hf://ORG/NAME@REVISION."
            )
        }
        guard let reference = Self(kind, parts, revision: revision) else {
            throw Self.unusable(
                text,
                parts.count > 2
                    ? "It names a repository, not a file or folder within: hf://ORG/NAME@REVISION."
                    : "Write hf://ORG/NAME or hf://ORG/NAME@REVISION, with datasets/ or spaces/ before ORG for others than models."
            )
        }
        self = reference
    }

    /// Reads the link of a page of the hub, such as `https://huggingface.co/ORG/NAME/tree/REVISION`.
    ///
    /// - Parameter endpoint: the URL of the hub.
    /// - Returns: `nil` unless the link leads to the page of a repository of this hub.
    package init?(link: URL, endpoint: URL) {
        guard let link = HTTPURL(link), let endpoint = HTTPURL(endpoint), Origin(link.url) == Origin(endpoint.url),
            link.url.user == nil
        else { return nil }
        func segments(_ target: String) -> [String] {
            let path = target.utf8.prefix { $0 != UInt8(ascii: "?") }
            return path.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }
        }
        let own = segments(endpoint.target)
        var parts = segments(link.target)
        guard parts.starts(with: own) else { return nil }
        parts.removeFirst(own.count)
        var kind = Kind.model
        if parts.count > 1, let named = parts.first.flatMap(Kind.init), named != .model {
            kind = named
            parts.removeFirst()
        } else if let first = parts.first, Self.pages.contains(first) {
            return nil
        }
        var revision: [UInt8]?
        if parts.count > 2, parts[parts.count - 2] == "tree" {
            revision = parts.last.map { Array($0.utf8) }
            parts.removeLast(2)
        } else if parts.count < 2 {
            // A page of one part is that of a user or an organization.
            return nil
        }
        self.init(kind, parts, revision: revision)
    }

    /// First parts of the paths of pages that are no repositories.
    private static let pages: Set<String> = [
        "api", "blog", "chat", "collections", "datasets", "docs", "enterprise", "inference", "join", "learn", "login",
        "models", "new", "organizations", "papers", "posts", "pricing", "settings", "spaces", "tasks",
    ]

    /// - Parameter revision: perhaps with escapes.
    private init?(_ kind: Kind, _ parts: [String], revision: [UInt8]?) {
        guard (1...2).contains(parts.count), parts.allSatisfy(Self.isPartOfName) else { return nil }
        self.kind = kind
        name = parts.joined(separator: "/")
        guard let revision else {
            self.revision = nil
            return
        }
        guard let decoded = FileName.percentDecoded(revision[...]),
            let text = String(validating: decoded, as: UTF8.self), Self.isRevision(text)
        else { return nil }
        self.revision = text
    }

    package static func isReference(_ text: String) -> Bool {
        text.prefix(scheme.count).lowercased() == scheme
    }

    /// Whether the text looks like `SECRET@ORG/NAME`. Such a text is refused, because the secret must not be sent or
    /// shown as a name. Therefore a slash in the revision after a name of one part must be escaped, unless the revision
    /// begins with `refs/`.
    private static func isUserInfo(_ parts: [String], before revision: [UInt8]?) -> Bool {
        guard parts.count == 1, let revision else { return false }
        return revision.contains(UInt8(ascii: "/")) && !revision.starts(with: gitReferences.utf8)
    }

    private static let gitReferences = "refs/"

    private static func isPartOfName(_ part: String) -> Bool {
        let ends = [UInt8(ascii: "-"), UInt8(ascii: ".")]
        guard (1...96).contains(part.utf8.count), let first = part.utf8.first, let last = part.utf8.last,
            !ends.contains(first), !ends.contains(last), !part.contains("..")
        else { return false }
        return part.utf8.allSatisfy {
            switch $0 {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
                true
            default: false
            }
        }
    }

    /// Whether git allows a text as a branch, tag or commit.
    private static func isRevision(_ text: String) -> Bool {
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        return text.utf8.count <= 256 && !text.contains("..")
            && text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F && !"~^:?*[\\".utf8.contains($0) }
            && parts.allSatisfy { !$0.isEmpty && $0.first != UInt8(ascii: ".") && $0.last != UInt8(ascii: ".") }
    }

    private static func unusable(_ text: String, _ advice: String) -> DownloadError {
        let shown = URL.cut(URL.maskedWithoutHost(text))
        return DownloadError(.invalidURL, "\(shown) names no repository of a model hub. \(advice)")
    }
}

extension HubReference: CustomStringConvertible {
    /// The form that ``init(_:)`` reads.
    package var description: String {
        let front = kind == .model ? "" : kind.rawValue + "/"
        return Self.scheme + front + name + (revision.map { "@" + spelled($0) } ?? "")
    }

    private func spelled(_ revision: String) -> String {
        let revision = revision.replacing("%", with: "%25")
        guard !name.contains("/"), !revision.hasPrefix(Self.gitReferences) else { return revision }
        return revision.replacing("/", with: "%2F")
    }

    /// Returns the text of a reference to the same repository at another revision. The caller escapes the revision
    /// where a reference requires it.
    package func at(_ revision: String) -> String {
        let front = kind == .model ? "" : kind.rawValue + "/"
        return Self.scheme + front + name + "@" + revision
    }
}

// MARK: - URLs

extension HubReference {
    /// The URL whose answer names the commit of the revision.
    ///
    /// - Throws: ``DownloadError/Code/invalidSet`` for an endpoint that cannot be asked. The functions below throw this
    ///   too.
    package func revisionURL(endpoint: URL) throws(DownloadError) -> URL {
        let revision = SetURL.escaped(revision ?? Self.mainRevision)
        return try SetURL.below(endpoint, escaped: "api/\(kind.rawValue)/\(name)/revision/\(revision)")
    }

    /// The URL of the first page of the files of a commit.
    package func treeURL(endpoint: URL, commit: String) throws(DownloadError) -> URL {
        let path = "api/\(kind.rawValue)/\(name)/tree/\(SetURL.escaped(commit))?recursive=true"
        return try SetURL.below(endpoint, escaped: path)
    }

    /// The URL of one file of a commit.
    ///
    /// - Throws: ``DownloadError/Code/invalidSet`` also for a path that leaves the repository.
    package func fileURL(endpoint: URL, commit: String, path: String) throws(DownloadError) -> URL {
        let front = kind == .model ? "" : kind.rawValue + "/"
        return try SetURL.below(
            endpoint,
            escaped: "\(front)\(name)/resolve/\(SetURL.escaped(commit))/",
            path: path
        )
    }
}
