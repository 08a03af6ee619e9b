package import Foundation

/// A release of a project: the link of its page at GitHub, GitLab, Gitea or Forgejo.
///
/// Only the form of the link decides. GitHub is `github.com`. A link of GitHub's form to another host counts as a link
/// to Gitea.
package struct ReleaseReference: Sendable, Hashable {
    package enum Host: Sendable, Hashable { case gitHub, gitLab, gitea }

    package let host: Host
    /// The URL of the server, perhaps with a path, without the project.
    private let server: URL
    /// The escaped parts of the project's path, such as owner and name.
    private let project: [String]
    /// `nil` for the latest release.
    package let tag: String?

    /// Base URL of GitHub's API in production. A test passes a local one to ``apiURL(gitHubAPI:)``.
    package static let gitHubAPI = "https://api.github.com"

    /// - Returns: `nil` unless the URL has the form of a release's page.
    package init?(_ url: URL) {
        guard let address = HTTPURL(url), address.url.user == nil, let name = address.url.host?.lowercased() else {
            return nil
        }
        let path = address.target.utf8.prefix { $0 != UInt8(ascii: "?") }
        let parts = path.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .map { String(Substring($0)) }
        guard !parts.dropLast().contains(""), let releases = Self.releases(in: parts) else { return nil }
        var rest = parts[(releases + 1)...]
        if rest.last == "" { rest = rest.dropLast() }
        var front = parts[..<releases]
        if front.last == "-" {
            front = front.dropLast()
            host = .gitLab
            // The path of a project has at least a group and a name.
            guard front.count >= 2 else { return nil }
            project = Array(front)
            front = []
            // GitLab escapes the slash of a tag. More parts lead to one file of a release.
            if rest.elementsEqual(["permalink", "latest"]) { rest = [] } else if rest.count != 1 { return nil }
        } else {
            host = name == "github.com" || name == "www.github.com" ? .gitHub : .gitea
            guard front.count == 2 || front.count > 2 && host == .gitea else { return nil }
            project = Array(front.suffix(2))
            front = front.dropLast(2)
            switch rest.popFirst() {
            case "latest" where rest.isEmpty: break
            case "tag" where !rest.isEmpty: break
            default: return nil
            }
        }
        if rest.isEmpty {
            tag = nil
        } else {
            let bytes = FileName.percentDecoded(Array(rest.joined(separator: "/").utf8)[...])
            guard let bytes, let text = String(validating: bytes, as: UTF8.self), text.utf8.count <= 256,
                text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
            else { return nil }
            tag = text
        }
        guard let server = HTTPURL(SetURL.front(address) + "/" + front.joined(separator: "/"))?.url else { return nil }
        self.server = server
    }

    /// Returns the index of the part `releases` behind which the tag stands.
    private static func releases(in parts: [String]) -> Int? {
        parts.indices.first { index in
            guard parts[index] == "releases", index >= 2, index + 1 < parts.count else { return false }
            return parts[index - 1] == "-" || ["tag", "latest"].contains(parts[index + 1])
        }
    }

    /// The URL whose answer ``ReleaseAnswer`` reads.
    ///
    /// - Parameter gitHubAPI: the URL of GitHub's API.
    /// - Throws: ``DownloadError/Code/invalidSet`` for a server that cannot be asked.
    package func apiURL(gitHubAPI: String = gitHubAPI) throws(DownloadError) -> URL {
        let tag = tag.map(SetURL.escaped)
        switch host {
        case .gitHub:
            guard let api = HTTPURL(gitHubAPI)?.url else { throw .invalidSet("the URL of the server cannot be asked") }
            return try SetURL.below(api, escaped: "repos/\(project.joined(separator: "/"))/releases/" + Self.path(tag))
        case .gitea:
            let path = "api/v1/repos/\(project.joined(separator: "/"))/releases/" + Self.path(tag)
            return try SetURL.below(server, escaped: path)
        case .gitLab:
            let path = "api/v4/projects/\(project.joined(separator: "%2F"))/releases/" + (tag ?? "permalink/latest")
            return try SetURL.below(server, escaped: path)
        }
    }

    private static func path(_ tag: String?) -> String { tag.map { "tags/" + $0 } ?? "latest" }
}
