internal import Foundation

/// A Metalink document in a form that is safe to pass to an XML parser.
///
/// Entities that expand to gigabytes, read files or contact servers need a document type declaration. A document with
/// such a declaration is refused. The search for the declaration is reliable only in UTF-8, because another encoding
/// would hide it. Therefore Haul, not the parser, converts UTF-16, the ISO-8859 and Windows families and the encodings
/// of ``EastAsianCharset`` to UTF-8. Any other encoding is refused, and the document's own encoding declaration is
/// replaced.
///
/// The parser has defences of its own, but this check of the bytes is the decisive one: see ``XMLText``.
struct MetalinkDocument {
    let xml: XMLText

    /// - Throws: ``DownloadError/Code/invalidMetalink``.
    init(_ data: Data, limits: Metalink.Limits) throws(DownloadError) {
        guard data.count <= limits.documentBytes else {
            throw .invalidMetalink("it is larger than \(limits.documentBytes >> 20) MiB")
        }
        let body = try Self.utf8([UInt8](data))
        do throws(XMLText.Hazard) { xml = try XMLText(body) } catch {
            switch error {
            case .documentType:
                throw .invalidMetalink("it declares a document type, which might do harm and has no use here")
            case .emptyInstruction: throw .invalidMetalink("it has an empty processing instruction")
            }
        }
        try Self.checkElements(body, limits)
    }

    /// Returns the document in UTF-8, without its XML declaration (`<?xml … encoding="…"?>`).
    private static func utf8(_ bytes: [UInt8]) throws(DownloadError) -> ArraySlice<UInt8> {
        if let wide = try utf16(bytes) { return try declaration(wide[...]).rest }
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let (encoding, body) = try declaration(bytes.dropFirst(bytes.starts(with: mark) ? mark.count : 0))
        guard !bytes.contains(0) else { throw .invalidMetalink("it is not in UTF-8") }
        let isUTF8 = String(validating: bytes, as: UTF8.self) != nil
        guard let encoding else {
            guard isUTF8 else { throw .invalidMetalink("it is not in UTF-8") }
            return body
        }
        guard let charset = Charset(label: encoding) else {
            throw .invalidMetalink("it is not in UTF-8 but says that it is in \(printable(encoding))")
        }
        guard let text = charset.text(body) else {
            throw .invalidMetalink("it is not in \(printable(encoding)), as it says")
        }
        return Array(text.utf8)[...]
    }

    /// - Returns: the document in UTF-8; `nil` if its first two bytes are not those of a document in UTF-16.
    private static func utf16(_ bytes: [UInt8]) throws(DownloadError) -> [UInt8]? {
        let isBig: Bool
        let start: Int
        switch (bytes.first, bytes.dropFirst().first) {
        case (0xFE, 0xFF): (isBig, start) = (true, 2)
        case (0xFF, 0xFE): (isBig, start) = (false, 2)
        case (0, UInt8(ascii: "<")): (isBig, start) = (true, 0)
        case (UInt8(ascii: "<"), 0): (isBig, start) = (false, 0)
        default: return nil
        }
        guard bytes.count % 2 == 0 else { throw .invalidMetalink("it is not in UTF-8, and not in UTF-16 either") }
        let units = stride(from: start, to: bytes.count, by: 2).map { index in
            let (first, second) = (UInt16(bytes[index]), UInt16(bytes[index + 1]))
            return isBig ? first << 8 | second : second << 8 | first
        }
        // UTF-32 looks like UTF-16 with a null behind each character.
        guard !units.contains(0), let text = String(validating: units, as: UTF16.self) else {
            throw .invalidMetalink("it is not in UTF-8, and not in UTF-16 either")
        }
        return Array(text.utf8)
    }

    /// Splits `text` into the encoding that its XML declaration names and the text behind the declaration.
    private static func declaration(_ text: ArraySlice<UInt8>) throws(DownloadError) -> (
        encoding: String?, rest: ArraySlice<UInt8>
    ) {
        guard let (declaration, rest) = XMLText.split(text) else {
            throw .invalidMetalink("its XML declaration does not end")
        }
        return (encoding(String(decoding: declaration, as: UTF8.self)), rest)
    }

    private static func encoding(_ declaration: String) -> String? {
        guard let name = declaration.range(of: "encoding") else { return nil }
        let value = declaration[name.upperBound...].drop { $0.isWhitespace || $0 == "=" }
        guard let quote = value.first, quote == "\"" || quote == "'" else { return nil }
        return String(value.dropFirst().prefix { $0 != quote })
    }

    /// Refuses a document in which a part between two `<` is too long.
    private static func checkElements(_ body: ArraySlice<UInt8>, _ limits: Metalink.Limits) throws(DownloadError) {
        let lengths = body.split(separator: UInt8(ascii: "<"), omittingEmptySubsequences: false).lazy.map(\.count)
        guard lengths.allSatisfy({ $0 < limits.elementBytes }) else {
            throw .invalidMetalink("an element of it is longer than \(limits.elementBytes >> 10) KiB")
        }
    }

    /// Returns up to 80 characters of a text from the document, for a message. Characters that cannot be shown become
    /// `?`.
    static func printable(_ text: String) -> String {
        let plain = text.unicodeScalars.prefix(80).map { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: "?"
            default: String(scalar)
            }
        }
        return plain.joined() + (text.unicodeScalars.dropFirst(80).isEmpty ? "" : "…")
    }
}
