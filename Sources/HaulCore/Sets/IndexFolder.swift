internal import Foundation

/// The folder of an index page. Only links below the folder count.
struct IndexFolder {
    enum Judgement: Equatable {
        /// The link is ignored: it leads to another place or to the page itself, has a query, is too long or cannot be
        /// read.
        case elsewhere
        /// The link leads below the folder, but a part of its path is no name.
        case refused(String)
        case inside(_ parts: [String], isFolder: Bool, url: String)
    }

    let page: HTTPURL
    private let origin: Origin
    /// Scheme, user info, host and port as the URL of the page spells them.
    private let front: String
    /// The decoded parts of the folder's path.
    private let folder: [[UInt8]]
    private let lastPart: [UInt8]

    /// - Returns: `nil` if the path has an invalid escape.
    init?(_ page: HTTPURL) {
        guard var parts = Self.parts(page.target) else { return nil }
        self.page = page
        origin = Origin(page.url)
        front = SetURL.front(page)
        lastPart = parts.popLast() ?? []
        folder = parts
    }

    /// Whether a URL is the folder or lies below.
    func holds(_ url: HTTPURL) -> Bool {
        guard Origin(url.url) == origin, url.url.user == page.url.user, url.url.password == page.url.password,
            let parts = Self.parts(url.target)
        else { return false }
        return parts.count > folder.count && parts.starts(with: folder)
    }

    /// Judges the target of a link.
    ///
    /// - Parameters:
    ///   - target: with its entities decoded.
    ///   - base: the URL that the target is relative to. It is the folder or lies below.
    ///   - longest: maximum length of a target in bytes. A longer target is ignored.
    func judge(_ target: [UInt8], base: HTTPURL, longest: Int) -> Judgement {
        let text = target.prefix { $0 != UInt8(ascii: "#") }
        guard !text.isEmpty, text.count <= longest, !text.contains(UInt8(ascii: "?")),
            !text.contains(UInt8(ascii: "\\"))
        else { return .elsewhere }
        // Escapes bytes that are not UTF-8. Such a link is then refused only below the folder, and ignored elsewhere.
        let spelled =
            String(validating: text, as: UTF8.self)
            ?? String(decoding: text.flatMap { $0 < 0x80 ? [$0] : FieldText.escaped($0) }, as: UTF8.self)
        guard let url = HTTPURL(spelled, relativeTo: base), Origin(url.url) == origin,
            !Self.namesUser(text), let parts = Self.parts(url.target)
        else { return .elsewhere }
        guard parts.count > folder.count, parts.starts(with: folder) else { return .elsewhere }
        var below = Array(parts[folder.count...])
        if below == [lastPart] { return .elsewhere }
        let isFolder = below.last == []
        if isFolder { below.removeLast() }
        guard !below.isEmpty else { return .elsewhere }
        let names = below.compactMap { Self.isPart($0[...]) ? String(validating: $0, as: UTF8.self) : nil }
        guard names.count == below.count, text.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { return refusal(text) }
        return .inside(names, isFolder: isFolder, url: front + url.target)
    }

    private func refusal(_ text: ArraySlice<UInt8>) -> Judgement {
        .refused(text.map { $0 < 0x80 ? String(Unicode.Scalar($0)) : "\\x" + [$0].hexadecimal }.joined())
    }

    /// Whether an absolute target has a user name in front of its host.
    private static func namesUser(_ text: ArraySlice<UInt8>) -> Bool {
        guard let slashes = text.indices.first(where: { text[$0...].starts(with: "//".utf8) }) else { return false }
        let before = text[..<slashes]
        guard before.isEmpty || before.last == UInt8(ascii: ":") else { return false }
        return text[slashes...].dropFirst(2).prefix { $0 != UInt8(ascii: "/") }.contains(UInt8(ascii: "@"))
    }

    /// Whether decoded bytes can be one part of a path: not empty, `.` or `..`, and without separators and control
    /// characters.
    static func isPart(_ bytes: ArraySlice<UInt8>) -> Bool {
        guard !bytes.isEmpty, !bytes.elementsEqual(".".utf8), !bytes.elementsEqual("..".utf8) else { return false }
        return bytes.allSatisfy {
            $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "\\")
        }
    }

    /// Returns the decoded parts behind the slashes of a path; the last is empty for a folder.
    ///
    /// - Parameter target: a path that begins with a slash, perhaps with a query.
    private static func parts(_ target: String) -> [[UInt8]]? {
        let path = Array(target.utf8.prefix { $0 != UInt8(ascii: "?") })
        var parts: [[UInt8]] = []
        for part in path.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            guard let decoded = FileName.percentDecoded(part) else { return nil }
            parts.append(decoded)
        }
        return parts.isEmpty ? [[]] : parts
    }
}
