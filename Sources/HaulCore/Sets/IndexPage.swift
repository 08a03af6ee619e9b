package import Foundation

/// The files and folders that the index page of a server's folder links to: the pages of nginx, Apache, Caddy,
/// lighttpd and Python, and nginx's list in JSON.
///
/// A link counts only if it leads below the folder of the page, on the same server, without a query. Links that lead
/// upwards, elsewhere, or sort the page are ignored.
package struct IndexPage: Sendable, Hashable {
    package struct Link: Sendable, Hashable {
        /// The last part of the path, decoded; not safe to create.
        package let name: String
        /// The relative path below the folder of the page, decoded, without a slash at its end; not safe to create.
        package let path: String
        package let url: URL
        /// Length in bytes; `nil` unless the page states it exactly.
        package let size: Int64?
    }

    /// In the order of the page; each path once.
    package let files: [Link]
    /// In the order of the page; each path once. Their URLs end in a slash.
    package let folders: [Link]
    /// Names below the folder that no file can have.
    package let refused: [RefusedName]

    /// Largest page that is read, in bytes.
    package static let maximumBytes = 64 << 20
    package static let maximumLinks = FileSet.maximumNames
    /// Longest target of a link that is read, in bytes.
    private static let maximumTargetBytes = 8192

    /// - Parameters:
    ///   - url: the URL of the page after redirects.
    ///   - mediaType: the media type of the answer, perhaps with parameters; `nil` if it has none.
    /// - Throws: ``DownloadError/Code/invalidSet`` for a page above one of the limits, a page of another media type,
    ///   and a page whose `<base>` is not its folder or below.
    package init(_ bytes: [UInt8], url: URL, mediaType: String?) throws(DownloadError) {
        guard bytes.count <= Self.maximumBytes else {
            throw .invalidSet("the index page is larger than \(Self.maximumBytes >> 20) MiB")
        }
        guard let page = HTTPURL(url), let folder = IndexFolder(page) else {
            throw .invalidSet("the URL of the index page cannot be asked")
        }
        var collected = Collected()
        switch try Self.form(mediaType, bytes) {
        case .json: try Self.readJSON(bytes, folder, &collected)
        case .html: try Self.readHTML(bytes, folder, &collected)
        }
        (files, folders, refused) = (collected.files, collected.folders, collected.refused)
    }

    private enum Form { case html, json }

    private static func form(_ mediaType: String?, _ bytes: [UInt8]) throws(DownloadError) -> Form {
        let type = (mediaType ?? "").prefix { $0 != ";" }.lowercased().filter { $0 != " " && $0 != "\t" }
        switch type {
        case "text/html", "application/xhtml+xml": return .html
        case "application/json": return .json
        case "":
            let first = bytes.first { $0 > 0x20 }
            return first == UInt8(ascii: "[") ? .json : .html
        default: throw .invalidSet("the URL leads to no index page, but to \(URL.cut(VisibleText.line(type)))")
        }
    }

    private static func readHTML(
        _ bytes: [UInt8],
        _ folder: IndexFolder,
        _ collected: inout Collected
    ) throws(DownloadError) {
        guard let links = HTMLLinks(bytes, limit: maximumLinks) else {
            throw .invalidSet("the index page has more than \(maximumLinks) links")
        }
        var base = folder.page
        if let text = links.base, !text.isEmpty {
            guard let text = String(validating: text, as: UTF8.self), let url = HTTPURL(text, relativeTo: folder.page),
                folder.holds(url)
            else { throw .invalidSet("the links of the index page lead elsewhere") }
            base = url
        }
        for target in links.targets {
            switch folder.judge(target, base: base, longest: maximumTargetBytes) {
            case .elsewhere: break
            case .refused(let name): collected.refuse(name)
            case .inside(let parts, let isFolder, let url): collected.add(parts, isFolder, url, size: nil)
            }
        }
    }

    private static func readJSON(
        _ bytes: [UInt8],
        _ folder: IndexFolder,
        _ collected: inout Collected
    ) throws(DownloadError) {
        let entries: [Entry] = try SetAnswer.decoded(bytes, limit: maximumBytes, of: "the server")
        guard entries.count <= maximumLinks else {
            throw .invalidSet("the index page has more than \(maximumLinks) links")
        }
        for entry in entries where entry.type == "file" || entry.type == "directory" {
            let isFolder = entry.type == "directory"
            let name = Array(entry.name.utf8)
            guard IndexFolder.isPart(name[...]) else {
                collected.refuse(entry.name)
                continue
            }
            guard entry.size.map(SetAnswer.sizes.contains) ?? true else {
                throw .invalidSet("the index page names no possible length of \(URL.cut(entry.name))")
            }
            let url = try SetURL.file(entry.name, besides: folder.page.url)
            collected.add(
                [entry.name],
                isFolder,
                isFolder ? url.absoluteString + "/" : url.absoluteString,
                size: entry.size
            )
        }
    }

    private struct Entry: Decodable {
        let name: String
        let type: String
        let size: Int64?
    }

    /// The links so far, each once.
    private struct Collected {
        var files: [Link] = []
        var folders: [Link] = []
        var refused: [RefusedName] = []
        /// Paths by their bytes, because `String` treats two normalizations of one text as equal.
        private var seen: Set<[UInt8]> = []

        mutating func add(_ parts: [String], _ isFolder: Bool, _ text: String, size: Int64?) {
            let path = parts.joined(separator: "/")
            guard let name = parts.last, seen.insert(Array((isFolder ? path + "/" : path).utf8)).inserted else {
                return
            }
            guard let url = HTTPURL(text)?.url else { return refuse(path) }
            let link = Link(name: name, path: path, url: url, size: isFolder ? nil : size)
            if isFolder { folders.append(link) } else { files.append(link) }
        }

        mutating func refuse(_ name: String) {
            guard seen.insert([0] + Array(name.utf8)).inserted else { return }
            refused.append(
                RefusedName(name, "\u{201C}\(URL.cut(name))\u{201D} of the index page is no name for a file.")
            )
        }
    }
}
