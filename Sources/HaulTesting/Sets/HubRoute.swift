internal import Foundation
internal import HaulKit

/// The page of the hub that a request is for.
struct HubRoute {
    enum Page {
        /// The commit of a revision, and the names of its files.
        case info
        /// One page of the files of a revision.
        case tree
        /// A file by its path. `isDirect` is `true` after the redirect for small files.
        case file(path: String, isDirect: Bool)
    }

    private let kind: String
    private let name: String
    /// `ORG/NAME` for a model, `datasets/ORG/NAME` or `spaces/ORG/NAME` for others.
    let repository: String
    /// A branch or a commit.
    let revision: String
    let page: Page

    /// - Parameter path: the path of the request target, percent-encoded.
    /// - Returns: `nil` if the hub has no such page.
    init?(_ path: String) {
        let segments = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst()
        var parts: ArraySlice<String> = []
        for segment in segments {
            guard let bytes = FileName.percentDecoded(Array(segment)[...]) else { return nil }
            parts.append(String(decoding: bytes, as: UTF8.self))
        }
        if parts.starts(with: ["api", "resolve-cache"]), parts.count > 6 {
            // The path is `/api/resolve-cache/KIND/ORG/NAME/COMMIT/PATH`, to which the hub redirects requests for small
            // files.
            let words = Array(parts.dropFirst(2))
            self.init(words[0], words[1...2], words[3], .file(path: Self.joined(words[4...]), isDirect: true))
        } else if parts.first == "api" {
            let words = Array(parts.dropFirst())
            switch (words.count, words.dropFirst(3).first) {
            case (3, nil): self.init(words[0], words[1...2], "main", .info)
            case (5, "revision"): self.init(words[0], words[1...2], words[4], .info)
            case (5, "tree"): self.init(words[0], words[1...2], words[4], .tree)
            default: return nil
            }
        } else {
            let isModel = parts.first.map { !["datasets", "spaces"].contains($0) } ?? true
            let words = (isModel ? ["models"] : []) + parts
            guard words.count > 5, words[3] == "resolve" else { return nil }
            self.init(words[0], words[1...2], words[4], .file(path: Self.joined(words[5...]), isDirect: false))
        }
    }

    private init?(_ kind: String, _ name: ArraySlice<String>, _ revision: String, _ page: Page) {
        guard ["models", "datasets", "spaces"].contains(kind) else { return nil }
        self.kind = kind
        self.name = Self.joined(name)
        repository = kind == "models" ? self.name : "\(kind)/\(self.name)"
        self.revision = revision
        self.page = page
    }

    /// Returns the target that the hub redirects to for a small file.
    func directTarget(_ path: String, commit: String) -> String {
        let path = path.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed) ?? path
        return "/api/resolve-cache/\(kind)/\(name)/\(commit)/\(path)"
    }

    private static func joined(_ words: ArraySlice<String>) -> String { words.joined(separator: "/") }
}
