package import Foundation

/// Makes a name that is safe to create out of whatever a header or a URL says: RFC 6266, 4.3 and 7.
package enum FileName {
    /// Leaves bytes for ` (12)` and ``partSuffix`` within the 255 bytes of a file system.
    static let maximumBytes = 240
    /// The suffix of a file that is still being loaded; no finished file may have it.
    static let partSuffix = ".haulpart"

    /// The last path segment of `raw`, without anything that hides, misleads, escapes the folder, or that some file
    /// system refuses. Applying it twice changes nothing more.
    ///
    /// - Returns: nil when nothing is left.
    package static func safe(_ raw: String) -> String? {
        if isPlain(raw) { return raw }
        var name = VisibleText.cleaned(lastSegment(of: raw)).replacingScalars(
            ["<", ">", ":", "\"", "|", "?", "*"],
            with: "_"
        )
        // One step can undo another (a cut can end the name in a space, or in the suffix), so they run until none
        // changes anything. They end: no step lengthens a name but the underscore, which no name gets twice.
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

    /// The same for a title, which is not a path: a slash in it separates nothing, and becomes an underscore.
    package static func safeTitle(_ title: String) -> String? {
        let separators = title.utf8.contains { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
        return safe(separators ? title.replacingScalars(["/", "\\"], with: "_") : title)
    }

    /// The safe name in the path of `url`: its last segment that is not empty, percent-decoded. An encoded separator
    /// separates too. Query and fragment do not count.
    package static func from(url: URL) -> String? {
        guard let segment = lastSegment(inPathOf: url) else { return nil }
        guard segment.utf8.contains(UInt8(ascii: "%")) else { return safe(segment) }
        return safe(FieldText.decoded(unescaped(segment)))
    }

    /// The last segment of a URL's path that is not empty, as it stands there; nil where there is none.
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

    /// The bytes of that segment: they need not be text, and then Foundation says that there is no such segment.
    static func lastBytes(inPathOf url: URL) -> [UInt8] { lastSegment(inPathOf: url).map(unescaped) ?? [] }

    /// The name in the header, else the suggested one, else that in the first of `urls` that has one, else `download`.
    ///
    /// - Parameters:
    ///   - isNumbered: the suggested name is that of the URL, with a number.
    ///   - mediaType: gives a name without an extension, which is not the header's, the one of its type.
    static func choose(
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

    /// The `index`-th name to try when the ones before are taken: `a.zip`, `a (1).zip`, `a (2).zip`. With
    /// ``partSuffix`` it fits in 255 bytes.
    static func candidate(_ name: String, _ index: Int) -> String {
        shortened(name, inserting: index > 0 ? " (\(index))" : "", limit: 255 - partSuffix.utf8.count)
    }
}

// MARK: - Steps

extension FileName {
    private static let reserved: Set<String> = {
        let numbers = "123456789\u{B9}\u{B2}\u{B3}"
        let ports = numbers.flatMap { ["COM\($0)", "LPT\($0)"] }
        return Set(["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"] + ports)
    }()

    /// Most names: letters, digits, dots, dashes and underscores, in which none of the steps finds anything to do.
    private static func isPlain(_ raw: String) -> Bool {
        let bytes = raw.utf8
        guard (1...maximumBytes).contains(bytes.count), let first = bytes.first, let last = bytes.last,
            first != UInt8(ascii: "."), first != UInt8(ascii: "-"), last != UInt8(ascii: "."),
            bytes.allSatisfy({ $0.isNameCharacter }), !hasSuffix(raw, partSuffix)
        else { return false }
        // The names of devices are all short.
        let stem = bytes.prefix { $0 != UInt8(ascii: ".") }
        return stem.count > 4 || !reserved.contains(raw[..<stem.endIndex].uppercased())
    }

    /// Without leading dots (hidden), dashes (an option to a tool) and blanks, and trailing dots and blanks (Windows
    /// drops them, so that another file is meant). A tilde at the beginning, by which a shell means a home folder, becomes an
    /// underscore.
    private static func trimmed(_ name: String) -> String {
        let front = name.unicodeScalars.drop { $0 == "." || $0 == "-" || isBlank($0) }
        guard let last = front.lastIndex(where: { $0 != "." && !isBlank($0) }) else { return "" }
        return front.first == "~" ? "_" + String(front[...last].dropFirst()) : String(front[...last])
    }

    /// What looks like a blank: white space, and the Braille pattern without a dot.
    private static func isBlank(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isWhitespace || scalar == "\u{2800}"
    }

    private static func withoutPartSuffix(_ name: String) -> String {
        // Letter case does not matter, because it does not to a case-insensitive file system.
        guard hasSuffix(name, partSuffix) else { return name }
        let dot = name.utf8.index(name.endIndex, offsetBy: -partSuffix.utf8.count)
        return name[..<dot] + "_" + name[name.utf8.index(after: dot)...]
    }

    /// Windows opens a device for these names, whatever blanks and extension follow.
    private static func unreserved(_ name: String) -> String {
        let stem = name.unicodeScalars.prefix { $0 != "." }
        let end = stem.lastIndex { !$0.properties.isWhitespace }.map(stem.index(after:)) ?? stem.startIndex
        return reserved.contains(String(stem[..<end]).uppercased()) ? "_" + name : name
    }

    /// `name` with `middle` before its extension, cut before `middle` to fit in `limit` bytes.
    private static func shortened(_ name: String, inserting middle: String, limit: Int) -> String {
        let start = extensionStart(name)
        let suffix = name[start...]
        let base = name[..<start]
        let left = limit - middle.utf8.count - suffix.utf8.count
        return (base.utf8.count <= left ? base : prefix(of: base, bytes: left)) + middle + suffix
    }

    /// Where the extension begins, with its dot: the end of `name` when it has none, or one too long to be one.
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

    /// The longest beginning of whole characters; of whole scalars when not even the first character fits.
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
    /// What follows the last separator of either kind; looked for in bytes, because a combining mark behind a slash
    /// makes another character of it.
    static func lastSegment(of path: String) -> Substring {
        let separator = path.utf8.lastIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
        return separator.map { path[path.utf8.index(after: $0)...] } ?? path[...]
    }

    /// - Returns: nil when a marker (`%`, or `=` in RFC 2047) is not followed by two hexadecimal digits.
    static func percentDecoded(_ text: ArraySlice<UInt8>, marker: UInt8 = UInt8(ascii: "%")) -> [UInt8]? {
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
