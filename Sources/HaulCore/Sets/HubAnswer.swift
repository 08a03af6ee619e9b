package import Foundation

/// A file or folder in the tree of a hub's repository.
package struct HubEntry: Sendable, Hashable {
    package let isFolder: Bool
    /// The path in the repository; not safe to create.
    package let path: String
    /// Length in bytes; 0 for a folder.
    package let size: Int64
    /// SHA-256 for a file in Git LFS, git's digest for any other file; `nil` for a folder.
    package let checksum: DownloadRequest.Checksum?
}

/// Reads the answers of a model hub.
package enum HubAnswer {
    /// Largest answer that is read, in bytes.
    package static let maximumBytes = 64 << 20

    /// Returns the commit that an answer about a revision names, in lower case.
    ///
    /// - Parameter revision: the revision that was asked for. If it is a commit, the answer has to name the same one.
    /// - Throws: ``DownloadError/Code/invalidSet``.
    package static func commit(_ bytes: [UInt8], for revision: String? = nil) throws(DownloadError) -> String {
        let answer: Revision = try SetAnswer.decoded(bytes, limit: maximumBytes, of: "the hub")
        let commit = answer.sha.lowercased()
        guard isCommit(commit) else { throw .invalidSet("the hub names no commit") }
        if let asked = revision?.lowercased(), isCommit(asked), asked != commit {
            throw .invalidSet("the hub answers with commit \(commit) for commit \(asked)")
        }
        return commit
    }

    private static func isCommit(_ text: String) -> Bool {
        text.utf8.count == 40 && text.utf8.allSatisfy { $0.hexadecimalValue != nil }
    }

    /// Returns the entries of one page of a tree.
    ///
    /// - Throws: ``DownloadError/Code/invalidSet`` for a page that is not as documented, is too large, or has an entry
    ///   that is neither file nor folder.
    package static func entries(_ bytes: [UInt8]) throws(DownloadError) -> [HubEntry] {
        let answer: [Entry] = try SetAnswer.decoded(bytes, limit: maximumBytes, of: "the hub")
        guard answer.count <= FileSet.maximumNames else {
            throw .invalidSet("it has more than \(FileSet.maximumNames) names")
        }
        var entries: [HubEntry] = []
        entries.reserveCapacity(answer.count)
        for entry in answer {
            switch entry.type {
            case "file": entries.append(try file(entry))
            case "directory": entries.append(HubEntry(isFolder: true, path: entry.path, size: 0, checksum: nil))
            default: throw .invalidSet("the hub lists \(shown(entry.path)), which is neither file nor folder")
            }
        }
        return entries
    }

    private static func file(_ entry: Entry) throws(DownloadError) -> HubEntry {
        guard let size = entry.lfs?.size ?? entry.size, SetAnswer.sizes.contains(size) else {
            throw .invalidSet("the hub names no possible length of \(shown(entry.path))")
        }
        let (algorithm, hex): (String, String)
        if let lfs = entry.lfs {
            (algorithm, hex) = ("sha256", lfs.oid.hasPrefix("sha256:") ? String(lfs.oid.dropFirst(7)) : lfs.oid)
        } else {
            (algorithm, hex) = (DownloadRequest.Checksum.Algorithm.gitBlob.rawValue, entry.oid ?? "")
        }
        do throws(DownloadError) {
            let checksum = try DownloadRequest.Checksum("\(algorithm):\(hex)")
            return HubEntry(isFolder: false, path: entry.path, size: size, checksum: checksum)
        } catch {
            throw .invalidSet("the hub names no digest of \(shown(entry.path))", cause: error.message)
        }
    }

    private static func shown(_ path: String) -> String { "\u{201C}\(URL.cut(path))\u{201D}" }

    /// Returns the URL of the next page of a tree; `nil` after the last.
    ///
    /// - Parameters:
    ///   - links: the lines of the page's `Link` field.
    ///   - page: the URL of the page.
    /// - Throws: ``DownloadError/Code/invalidSet`` for a next page of another origin, which must not see the token, and
    ///   for a field that names a next page and cannot be read.
    package static func nextPage(_ links: [String], after page: URL) throws(DownloadError) -> URL? {
        guard let next = LinkHeader.parse(links).first(where: { $0.relations.contains("next") }) else {
            // Refuses a next page that cannot be read, because the set would be incomplete without it.
            guard !links.contains(where: { $0.lowercased().contains(/rel\s*=\s*"?next\b/) }) else {
                throw .invalidSet("the hub names a next page of its list that cannot be read")
            }
            return nil
        }
        guard let base = HTTPURL(page), let url = HTTPURL(next.target, relativeTo: base)?.url,
            Origin(url) == Origin(page), url.user == nil, url.password == nil
        else { throw .invalidSet("the next page of the hub's list is on another server") }
        return url
    }

    private struct Revision: Decodable {
        let sha: String
    }

    private struct Entry: Decodable {
        struct LFS: Decodable {
            let oid: String
            let size: Int64?
        }

        let type: String
        let path: String
        let size: Int64?
        let oid: String?
        let lfs: LFS?
    }
}

/// Reads answers in JSON that name the files of a set.
enum SetAnswer {
    /// Lengths that a file can have. The bound prevents overflow in later arithmetic.
    static let sizes: ClosedRange<Int64> = 0...(1 << 62)

    /// - Parameter sender: the sender of the answer, for the message of an error.
    /// - Throws: ``DownloadError/Code/invalidSet``.
    static func decoded<Value: Decodable>(
        _ bytes: [UInt8],
        limit: Int,
        of sender: String
    ) throws(DownloadError) -> Value {
        guard bytes.count <= limit else {
            throw .invalidSet("the answer of \(sender) is larger than \(limit >> 20) MiB")
        }
        do {
            return try JSONDecoder().decode(Value.self, from: Data(bytes))
        } catch {
            throw .invalidSet("the answer of \(sender) is not as documented")
        }
    }
}
