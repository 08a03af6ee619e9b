package import Foundation

/// Makes the URLs of a set's files from names, which are not escaped.
package enum SetURL {
    /// Escapes every byte of a name but letters, digits, `-`, `.`, `_` and `~`; a slash too.
    package static func escaped(_ name: some StringProtocol) -> String {
        let bytes = name.utf8.flatMap { byte -> [UInt8] in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                [byte]
            default: FieldText.escaped(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the URL of a file by its path relative to a list or a folder.
    ///
    /// - Parameters:
    ///   - path: a relative path, with `/` between its parts.
    ///   - page: the URL of the list after redirects, or of the folder. Its query and fragment do not count.
    /// - Throws: ``DownloadError/Code/invalidSet`` for a path that leaves the folder, or a URL that cannot be asked.
    package static func file(_ path: String, besides page: URL) throws(DownloadError) -> URL {
        guard let address = HTTPURL(page) else { throw .invalidSet("its URL cannot be asked") }
        let target = address.target.utf8.prefix { $0 != UInt8(ascii: "?") }
        let folder = target[...(target.lastIndex(of: UInt8(ascii: "/")) ?? target.startIndex)]
        return try url(front(address), String(Substring(folder)), path)
    }

    /// Returns the URL of a path below an endpoint. The endpoint may have a path of its own, with or without a slash at
    /// its end.
    ///
    /// - Parameter escaped: the first parts of the path, escaped already; `path` is escaped here.
    static func below(_ endpoint: URL, escaped: String, path: String? = nil) throws(DownloadError) -> URL {
        guard let address = HTTPURL(endpoint) else { throw .invalidSet("the URL of the server cannot be asked") }
        var own = String(Substring(address.target.utf8.prefix { $0 != UInt8(ascii: "?") }))
        while own.utf8.last == UInt8(ascii: "/") { own.removeLast() }
        return try url(front(address), own + "/" + escaped, path)
    }

    /// Returns scheme, user info, host and port as the URL spells them.
    static func front(_ address: HTTPURL) -> String {
        let text = address.url.absoluteString.utf8
        guard let slash = text.firstIndex(of: UInt8(ascii: "/")) else { return "" }
        let authority = text[slash...].dropFirst(2).prefix { !"/?#".utf8.contains($0) }
        return String(Substring(text[..<authority.endIndex]))
    }

    private static func url(_ front: String, _ folder: String, _ path: String?) throws(DownloadError) -> URL {
        var text = front + folder
        if let path {
            let parts = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
                .map { Substring($0) }
            guard !parts.contains(where: { ["", ".", ".."].contains($0) }) else {
                throw .invalidSet("the name \u{201C}\(URL.cut(path))\u{201D} leaves the folder")
            }
            text += parts.map { escaped($0) }.joined(separator: "/")
        }
        guard let url = HTTPURL(text)?.url else { throw .invalidSet("a URL of it cannot be asked") }
        return url
    }
}
