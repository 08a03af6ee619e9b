package import Foundation

/// Finds the digests of a ``ChecksumList`` by the paths of URLs and files. The time does not grow with the list.
package struct ChecksumIndex: Sendable {
    /// The answer of a list about one file.
    package enum Entry: Sendable, Hashable {
        case checksum(DownloadRequest.Checksum)
        /// The list names the file without a usable digest. The reason is a sentence for people.
        case refused(reason: String)
        /// Several names of the list fit the file, and their digests differ.
        case ambiguous
    }

    private let byName: [String: Entry]
    /// By the last part of each name.
    private let byLastPart: [String: Entry]

    /// Maximum number of parts of a path that are compared with a name.
    private static let mostParts = 32

    package init(_ list: ChecksumList) {
        var entries = list.lines.map { (name: $0.name, entry: Entry.checksum($0.checksum)) }
        entries += list.refused.map { (name: $0.name, entry: Entry.refused(reason: $0.reason)) }
        let both = { (first: Entry, second: Entry) in first == second ? first : Entry.ambiguous }
        // `String` treats two normalizations of one text as equal, so a name can come twice.
        byName = Dictionary(entries.map { ($0.name, $0.entry) }, uniquingKeysWith: both)
        byLastPart = Dictionary(entries.map { (FilePaths.name(of: $0.name), $0.entry) }, uniquingKeysWith: both)
    }

    /// Returns the entry of the file at a URL. Looks first for the longest name at the end of the URL's path, then for
    /// a name with the same last part.
    ///
    /// - Returns: `nil` if the list does not name the file.
    package func entry(of url: URL) -> Entry? {
        let parts = url.path(percentEncoded: true).utf8.split(separator: UInt8(ascii: "/")).map { part in
            FileName.percentDecoded(Array(part)[...]).map { String(decoding: $0, as: UTF8.self) }
                ?? String(Substring(part))
        }
        // Drops all parts up to the last one with an encoded slash, because that slash would count as a folder
        // separator.
        let start = parts.lastIndex { $0.contains("/") }.map { $0 + 1 } ?? parts.startIndex
        return entry(of: parts[start...])
    }

    /// Returns the entry of a file by its path. Looks in the same order as ``entry(of:)``.
    ///
    /// - Returns: `nil` if the list does not name the file.
    package func entry(ofPath path: String) -> Entry? {
        let parts = path.split(separator: "/").map { String($0) }
        return entry(of: parts[...])
    }

    private func entry(of parts: ArraySlice<String>) -> Entry? {
        let parts = parts.suffix(Self.mostParts)
        for start in parts.indices {
            if let entry = byName[parts[start...].joined(separator: "/")] { return entry }
        }
        return parts.last.flatMap { byLastPart[$0] }
    }
}
