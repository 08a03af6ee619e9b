internal import Foundation

/// The bytes of a document that may be shown to an XML parser.
///
/// What makes parsers dangerous needs a document type declaration: entities that expand to gigabytes, and entities
/// that read files or ask servers. So none is let through. That the bytes say so is certain only because they are
/// UTF-8: another encoding would hide the declaration from a search for it. Hence documents in UTF-16 and in the
/// ISO-8859 and Windows families are turned into UTF-8 first, by Haul and not by the parser, any other encoding is refused, and
/// the document's own word about its encoding is replaced.
///
/// On Linux a declaration of a notation, or a processing instruction without data, even ends the process: the parser
/// hands a missing text on as if it were one. So this look at the bytes is not the first line of defence but the one
/// that counts.
struct MetalinkDocument {
    let xml: Data

    /// - Throws: ``DownloadError/Code/invalidMetalink``.
    init(_ data: Data, limits: Metalink.Limits) throws(DownloadError) {
        guard data.count <= limits.documentBytes else {
            throw .invalidMetalink("it is larger than \(limits.documentBytes >> 20) MiB")
        }
        let body = try Self.utf8([UInt8](data))
        try Self.check(body, limits)
        xml = Data(#"<?xml version="1.0" encoding="UTF-8"?>"#.utf8) + body
    }

    /// The document without its XML declaration (`<?xml … encoding="…"?>`), in UTF-8.
    private static func utf8(_ bytes: [UInt8]) throws(DownloadError) -> ArraySlice<UInt8> {
        if let wide = try utf16(bytes) { return try declaration(wide[...]).rest }
        let persisted: [UInt8] = [0xEF, 0xBB, 0xBF]
        let (encoding, body) = try declaration(bytes.dropFirst(bytes.starts(with: persisted) ? persisted.count : 0))
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

    /// - Returns: nil for a document that is not in UTF-16.
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
        // UTF-32 looks alike, with a null behind each character.
        guard !units.contains(0), let text = String(validating: units, as: UTF16.self) else {
            throw .invalidMetalink("it is not in UTF-8, and not in UTF-16 either")
        }
        return Array(text.utf8)
    }

    /// What the XML declaration says of the encoding, and what follows it.
    private static func declaration(_ text: ArraySlice<UInt8>) throws(DownloadError) -> (
        encoding: String?, rest: ArraySlice<UInt8>
    ) {
        guard text.starts(with: "<?xml".utf8), let after = text.dropFirst(5).first, after.isXMLBlank else {
            return (nil, text)
        }
        let longest = text.prefix(1024)
        guard let end = longest.indices.dropLast().first(where: { longest[$0...].starts(with: "?>".utf8) }) else {
            throw .invalidMetalink("its XML declaration does not end")
        }
        return (encoding(String(decoding: text[..<end], as: UTF8.self)), text[(end + 2)...])
    }

    private static func encoding(_ declaration: String) -> String? {
        guard let name = declaration.range(of: "encoding") else { return nil }
        let value = declaration[name.upperBound...].drop { $0.isWhitespace || $0 == "=" }
        guard let quote = value.first, quote == "\"" || quote == "'" else { return nil }
        return String(value.dropFirst().prefix { $0 != quote })
    }

    private static func check(_ body: ArraySlice<UInt8>, _ limits: Metalink.Limits) throws(DownloadError) {
        var rest = body
        while !rest.isEmpty {
            // What precedes the next element, with that element's `<`.
            let opening = rest.firstIndex(of: UInt8(ascii: "<")) ?? rest.endIndex
            guard opening - rest.startIndex < limits.elementBytes else {
                throw .invalidMetalink("an element of it is longer than \(limits.elementBytes >> 10) KiB")
            }
            rest = rest[opening...].dropFirst()
            switch rest.first {
            // Even within a comment: no honest document contains that, and to tell would take a parser.
            case UInt8(ascii: "!") where rest.starts(with: "!DOCTYPE".utf8) || rest.starts(with: "!ENTITY".utf8):
                throw .invalidMetalink("it declares a document type, which might do harm and has no use here")
            case question where isEmptyInstruction(rest.dropFirst()):
                throw .invalidMetalink("it has an empty processing instruction")
            default: break
            }
        }
    }

    /// `target?>`, where `target ?>` has data: none. Stops at a `<`, so that all looks together take a time that grows
    /// with the document and not faster.
    private static func isEmptyInstruction(_ rest: ArraySlice<UInt8>) -> Bool {
        rest.drop { !$0.isXMLBlank && $0 != UInt8(ascii: "<") && $0 != question }.starts(with: "?>".utf8)
    }

    private static let question = UInt8(ascii: "?")

    /// A few characters of what the document says, fit for a message.
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

extension UInt8 {
    /// Whether this is white space in XML, which is less than in Unicode.
    var isXMLBlank: Bool { self == 0x20 || self == 0x0A || self == 0x0D || self == 0x09 }
}
