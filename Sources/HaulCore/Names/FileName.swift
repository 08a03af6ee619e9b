package import Foundation

/// Makes safe names for new files from header fields and URLs (RFC 6266 §4.3 and §7).
package enum FileName {
    /// Length limit of a name. Leaves bytes for ` (12)` and ``FilePaths/partSuffix`` within the 255 bytes of a file
    /// system.
    package static let maximumBytes = 240

    /// Returns the last path segment of `raw` as a safe name: it hides nothing, does not mislead, stays in its folder,
    /// and suits every file system. A safe name is returned unchanged.
    ///
    /// - Returns: `nil` if nothing is left.
    package static func safe(_ raw: String) -> String? {
        if isPlain(raw) { return raw }
        var name = VisibleText.cleaned(lastSegment(of: raw)).replacingScalars(
            ["<", ">", ":", "\"", "|", "?", "*"],
            with: "_"
        )
        // Repeats the steps until none changes the name, because one step can undo another: a cut can end the name in a
        // space or in the suffix. The loop ends, because only the underscore lengthens a name, and no name gets it
        // twice.
        while true {
            let next = shortened(
                unreserved(withoutPartSuffix(trimmed(VisibleText.cleaned(name)))),
                inserting: "",
                limit: maximumBytes
            )
            guard next != name else { break }
            name = next
        }
        return name.isEmpty ? nil : name
    }

    /// Returns a safe name for a title. A title is not a path, so its slashes and backslashes become underscores.
    package static func safeTitle(_ title: String) -> String? {
        let separators = title.utf8.contains { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
        return safe(separators ? title.replacingScalars(["/", "\\"], with: "_") : title)
    }

    /// Returns the safe name from the last non-empty path segment of `url`, percent-decoded. An encoded separator also
    /// separates. Query and fragment are ignored.
    package static func from(url: URL) -> String? {
        guard let segment = lastSegment(inPathOf: url) else { return nil }
        guard segment.utf8.contains(UInt8(ascii: "%")) else { return safe(segment) }
        return safe(FieldText.decoded(unescaped(segment)))
    }

    /// Returns the last non-empty path segment as the URL spells it; `nil` if there is none.
    private static func lastSegment(inPathOf url: URL) -> String? {
        let path = url.path(percentEncoded: true)
        let slash = UInt8(ascii: "/")
        guard let end = path.utf8.lastIndex(where: { $0 != slash }) else { return nil }
        let start = path.utf8[...end].lastIndex(of: slash).map { path.utf8.index(after: $0) } ?? path.startIndex
        return String(path[start...end])
    }

    private static func unescaped(_ segment: String) -> [UInt8] {
        let bytes = Array(segment.utf8)
        return percentDecoded(bytes[...]) ?? bytes
    }

    /// Returns the percent-decoded bytes of the last non-empty path segment, also if they are not UTF-8. For such bytes
    /// Foundation reports no segment.
    package static func lastBytes(inPathOf url: URL) -> [UInt8] { lastSegment(inPathOf: url).map(unescaped) ?? [] }

    /// Returns the name in the header, else the suggested name, else the first name in `urls`, else `download`.
    ///
    /// - Parameters:
    ///   - isNumbered: whether `suggested` is the name from the URL with a number.
    ///   - mediaType: supplies the extension for a name without one. A name from the header stays as it is.
    package static func choose(
        contentDisposition: String?,
        suggested: String? = nil,
        isNumbered: Bool = false,
        urls: [URL],
        mediaType: String? = nil
    ) -> String {
        if let name = contentDisposition.flatMap(ContentDisposition.fileName).flatMap(safe) { return name }
        if let name = suggested.flatMap(safeTitle) {
            return isNumbered ? MediaType.completing(name, mediaType) : MediaType.completing(title: name, mediaType)
        }
        return MediaType.completing(urls.lazy.compactMap(from).first ?? "download", mediaType)
    }

    /// Returns the `index`-th name to try if the names before it are taken: `a.zip`, `a (1).zip`, `a (2).zip`. The name
    /// and ``FilePaths/partSuffix`` fit in 255 bytes.
    package static func candidate(_ name: String, _ index: Int) -> String {
        shortened(name, inserting: index > 0 ? " (\(index))" : "", limit: 255 - FilePaths.partSuffix.utf8.count)
    }
}

// MARK: - Steps

extension FileName {
    private static let reserved: Set<String> = {
        let numbers = "123456789\u{B9}\u{B2}\u{B3}"
        let ports = numbers.flatMap { ["COM\($0)", "LPT\($0)"] }
        return Set(["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"] + ports)
    }()

    /// Whether `raw` is safe already. Recognizes only names of letters, digits, dots, dashes and underscores, which
    /// most names are.
    private static func isPlain(_ raw: String) -> Bool {
        let bytes = raw.utf8
        guard (1...maximumBytes).contains(bytes.count), let first = bytes.first, let last = bytes.last,
            first != UInt8(ascii: "."), first != UInt8(ascii: "-"), last != UInt8(ascii: "."),
            bytes.allSatisfy({ $0.isNameCharacter }), !hasSuffix(raw, FilePaths.partSuffix)
        else { return false }
        // A reserved name of plain characters has at most four characters.
        let stem = bytes.prefix { $0 != UInt8(ascii: ".") }
        return stem.count > 4 || !reserved.contains(raw[..<stem.endIndex].uppercased())
    }

    /// Removes leading dots (they hide a file), dashes (tools read an option) and blanks. Removes trailing dots and
    /// blanks, because Windows drops them and opens another file. Replaces a leading tilde, which a shell takes for a
    /// home folder, by an underscore.
    private static func trimmed(_ name: String) -> String {
        let front = name.unicodeScalars.drop { $0 == "." || $0 == "-" || isBlank($0) }
        guard let last = front.lastIndex(where: { $0 != "." && !isBlank($0) }) else { return "" }
        return front.first == "~" ? "_" + String(front[...last].dropFirst()) : String(front[...last])
    }

    /// Whether a scalar looks blank: white space, and the Braille pattern without a dot.
    private static func isBlank(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isWhitespace || scalar == "\u{2800}"
    }

    /// Whether a name is empty or shows nothing.
    package static func isInvisible(_ name: String) -> Bool {
        VisibleText.cleaned(name).unicodeScalars.allSatisfy(isBlank)
    }

    private static func withoutPartSuffix(_ name: String) -> String {
        // Ignores letter case, as a case-insensitive file system does.
        guard hasSuffix(name, FilePaths.partSuffix) else { return name }
        let dot = name.utf8.index(name.endIndex, offsetBy: -FilePaths.partSuffix.utf8.count)
        return name[..<dot] + "_" + name[name.utf8.index(after: dot)...]
    }

    /// Changes a name for which Windows opens a device, whatever blanks and extension follow.
    private static func unreserved(_ name: String) -> String {
        let stem = name.unicodeScalars.prefix { $0 != "." }
        let end = stem.lastIndex { !$0.properties.isWhitespace }.map(stem.index(after:)) ?? stem.startIndex
        return reserved.contains(String(stem[..<end]).uppercased()) ? "_" + name : name
    }

    /// Returns `name` with `middle` before its extension, cut before `middle` to fit in `limit` bytes.
    private static func shortened(_ name: String, inserting middle: String, limit: Int) -> String {
        let start = extensionStart(name)
        let suffix = name[start...]
        let base = name[..<start]
        let left = limit - middle.utf8.count - suffix.utf8.count
        return (base.utf8.count <= left ? base : prefix(of: base, bytes: left)) + middle + suffix
    }

    /// Returns the index of the extension's dot; the end of `name` if there is no extension or it has more than 16
    /// bytes.
    private static func extensionStart(_ name: String) -> String.Index {
        for compound in [".tar.gz", ".tar.xz", ".tar.bz2", ".tar.zst"] where hasSuffix(name, compound) {
            let start = name.utf8.index(name.endIndex, offsetBy: -compound.utf8.count)
            if start > name.startIndex { return start }
        }
        guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")), dot > name.startIndex,
            (2...17).contains(name.utf8.distance(from: dot, to: name.endIndex))
        else { return name.endIndex }
        return dot
    }

    /// Returns the longest prefix of whole characters that has at most `bytes` bytes; of whole scalars if not even the
    /// first character fits.
    private static func prefix(of text: Substring, bytes: Int) -> Substring {
        var left = bytes
        let characters = text.prefix { character in
            left -= character.utf8.count
            return left >= 0
        }
        guard characters.isEmpty else { return characters }
        left = bytes
        return Substring(
            text.unicodeScalars.prefix { scalar in
                left -= scalar.utf8.count
                return left >= 0
            }
        )
    }

    private static func hasSuffix(_ name: String, _ suffix: String) -> Bool {
        let end = name.utf8.suffix(suffix.utf8.count).map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
        return end.elementsEqual(suffix.utf8)
    }
}

// MARK: - Shared with ContentDisposition

extension FileName {
    /// Returns the text behind the last slash or backslash. Searches bytes, because a slash and a combining mark behind
    /// it form another character.
    static func lastSegment(of path: String) -> Substring {
        let separator = path.utf8.lastIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
        return separator.map { path[path.utf8.index(after: $0)...] } ?? path[...]
    }

    /// - Returns: `nil` when a marker (`%`, or `=` in RFC 2047) is not followed by two hexadecimal digits.
    package static func percentDecoded(_ text: ArraySlice<UInt8>, marker: UInt8 = UInt8(ascii: "%")) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = text
        while let byte = rest.popFirst() {
            guard byte == marker else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst()?.hexadecimalValue, let low = rest.popFirst()?.hexadecimalValue else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        return bytes
    }
}

extension String {
    fileprivate func replacingScalars(_ scalars: Set<Unicode.Scalar>, with other: Unicode.Scalar) -> String {
        String(String.UnicodeScalarView(unicodeScalars.map { scalars.contains($0) ? other : $0 }))
    }
}

extension UInt8 {
    fileprivate var isNameCharacter: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}

/// Paths with subfolders, which only a Metalink document or a set of files may choose.
extension FileName {
    /// Returns a path such as `a/b.iso` with every part made safe (RFC 5854 §4.1.2.1).
    ///
    /// - Returns: `nil` for a path that is not relative, has an empty part, `.` or `..`, has a part without any safe
    ///   character, has a backslash, or is longer than 1024 bytes. Such a path is not repaired.
    ///
    /// - Parameter keepsLeadingDots: whether hidden files and folders keep their names. A set may contain such files
    ///   (`.gitattributes`), and is incomplete without them.
    package static func safePath(_ raw: String, keepsLeadingDots: Bool = false) -> String? {
        guard raw.utf8.count <= 1024, !raw.utf8.contains(UInt8(ascii: "\\")) else { return nil }
        // Splits bytes, because a slash and a combining mark behind it form another character.
        let parts = raw.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        let safe = parts.compactMap { part in
            let dots = keepsLeadingDots ? part.prefix { $0 == UInt8(ascii: ".") } : part.prefix(0)
            return self.safe(String(Substring(part.dropFirst(dots.count)))).map { String(Substring(dots)) + $0 }
        }
        return safe.count == parts.count ? safe.joined(separator: "/") : nil
    }
}
