package import Foundation

/// The files below a folder of a web server that lists its folders: nginx, Apache, Caddy, lighttpd, Python's
/// `http.server`.
///
/// Follows only links that lead below the folder. An index page names no digests. The digests come from lists in the
/// folder, such as `SHA256SUMS`. Without a list, the sync compares the server's lengths and versions.
package struct IndexSource: SetSource {
    private let url: URL
    private let depth: Int?

    /// Number of folder levels below the top that are entered by default.
    static let usualDepth = 5
    /// Largest number of folders that are read.
    static let mostFolders = 100_000
    private static let foldersAtOnce = 8

    /// - Parameters:
    ///   - url: an `http` or `https` URL of a folder, with a slash at the end of its path.
    ///   - depth: number of folder levels below `url` to enter; 0 for only the files of the folder itself. Deeper
    ///     folders are not part of the set. `nil`, the default: enters 5 levels, and deeper folders are
    ///     ``SetReport/faults``.
    package init(_ url: URL, depth: Int? = nil) { (self.url, self.depth) = (url, depth.map { max(0, $0) }) }

    /// The URL of the folder.
    package var location: URL? { url }

    /// Fetches the index pages of the folder and of the folders below it, each once.
    ///
    /// - Throws: ``DownloadError``: ``DownloadError/Code/invalidSet`` for a page that is no index or leads out of the
    ///   folder, ``DownloadError/Code/unprovedSet`` for a list of digests that cannot be read, and the codes of a
    ///   download.
    package func list(_ documents: SetDocuments) async throws(DownloadError) -> FileSet {
        let top = try await Self.folder(url, prefix: "", below: nil, documents)
        var pages = [top]
        var seen: Set<URL> = [url, top.url]
        var next = top.subfolders.filter { seen.insert($0.url).inserted }
        var level = 0
        while !next.isEmpty, level < depth ?? Self.usualDepth {
            guard seen.count <= Self.mostFolders else {
                throw DownloadError(.invalidSet, "\(url.masked) has more than \(Self.mostFolders) folders.")
            }
            let found = try await Self.folders(
                next,
                below: top.url,
                documents,
                known: pages.reduce(0) { $0 + $1.names }
            )
            pages += found
            next = found.flatMap(\.subfolders).filter { seen.insert($0.url).inserted }
            level += 1
        }
        var set = FileSet(files: pages.flatMap(\.files), origin: url.masked)
        set.refused = pages.flatMap(\.refused)
        set.unread = Set(next.map(\.prefix))
        if let depth, !next.isEmpty {
            set.remarks.append("Folders more than \(depth) below \(url.masked) were not entered: \(next.count).")
        } else {
            set.refused += next.map {
                RefusedName($0.prefix, "It is more than \(Self.usualDepth) folders deep: say how deep to go.")
            }
        }
        if let page = pages.first(where: { !$0.isFramed }) { set.noteUnknownEnd(of: page.url.masked) }
        try await documents.applyLists(of: &set)
        return set
    }

    private struct Place: Sendable {
        let url: URL
        /// Path of this folder below the top, with a slash at its end.
        let prefix: String
    }

    private struct Folder: Sendable {
        let url: URL
        var files: [FileSet.File]
        var subfolders: [Place]
        var refused: [RefusedName]
        let isFramed: Bool
        var names: Int { files.count + subfolders.count + refused.count }
    }

    private struct ReadFolder: Sendable {
        let index: Int
        let result: Result<Folder, DownloadError>
    }

    /// This code is not in the task's closure because of a compiler fault: if a closure returns a tuple with the result
    /// of a call that has a typed error, optimized code of Swift 6.3.1 loses the other values of the tuple.
    private static func result(_ place: Place, below top: URL, _ documents: SetDocuments) async
        -> Result<Folder, DownloadError>
    {
        do throws(DownloadError) {
            return .success(try await folder(place.url, prefix: place.prefix, below: top, documents))
        } catch { return .failure(error) }
    }

    /// - Parameter known: number of names in the folders that were read before.
    private static func folders(
        _ places: [Place],
        below top: URL,
        _ documents: SetDocuments,
        known: Int
    ) async throws(DownloadError) -> [Folder] {
        var found: [Folder] = []
        var names = known
        for start in stride(from: 0, to: places.count, by: foldersAtOnce) {
            let part = places[start..<min(places.count, start + foldersAtOnce)]
            let results = await withTaskGroup(of: ReadFolder.self) { group in
                for (index, place) in part.enumerated() {
                    group.addTask { await ReadFolder(index: index, result: result(place, below: top, documents)) }
                }
                return await group.reduce(into: [Int: Result<Folder, DownloadError>]()) { $0[$1.index] = $1.result }
            }
            for index in 0..<part.count {
                guard let result = results[index] else {
                    throw DownloadError(.internalFault, "A folder of \(top.masked) was not read.")
                }
                let folder = try result.get()
                names += folder.names
                found.append(folder)
            }
            // One page may have a million names, so the total is checked before the next pages are read.
            guard names <= FileSet.maximumNames else { throw .tooManyFiles(top.masked) }
        }
        return found
    }

    /// - Parameter top: the folder that the page must be below; `nil` for the top itself.
    private static func folder(
        _ url: URL,
        prefix: String,
        below top: URL?,
        _ documents: SetDocuments
    ) async throws(DownloadError) -> Folder {
        let document = try await documents.read(url)
        if let top, !document.url.isBelow(top) {
            throw DownloadError(.invalidSet, "\(url.masked) leads out of the folder, to \(document.url.masked).")
        }
        guard document.url.isFolder else {
            throw DownloadError(.invalidSet, "\(url.masked) leads to a file, not to the index of a folder.")
        }
        let page = try IndexPage(document.bytes, url: document.url, mediaType: document.mediaType)
        return Folder(
            url: document.url,
            files: page.files.map { FileSet.File(name: prefix + $0.path, url: $0.url, size: $0.size) },
            subfolders: page.folders.map { Place(url: $0.url, prefix: "\(prefix)\($0.path)/") },
            refused: page.refused.map { RefusedName(prefix + $0.name, $0.reason) },
            isFramed: document.isFramed
        )
    }
}

extension URL {
    /// Whether the path ends in a slash. Reads the target, because `URL.path` drops that slash.
    fileprivate var isFolder: Bool {
        HTTPURL(self)?.target.utf8.prefix { $0 != UInt8(ascii: "?") }.last == UInt8(ascii: "/")
    }

    /// Whether the URL leads below a folder of the same origin. Both are resolved, so they have no dot segments.
    fileprivate func isBelow(_ folder: URL) -> Bool {
        let (mine, theirs) = (HTTPURL(self)?.target, HTTPURL(folder)?.target)
        guard let mine, let theirs, Origin(self) == Origin(folder) else { return false }
        return mine.utf8.starts(with: theirs.utf8.prefix { $0 != UInt8(ascii: "?") })
    }
}
