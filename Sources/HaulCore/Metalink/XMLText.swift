package import Foundation

#if canImport(FoundationXML)
    package import FoundationXML
#endif

/// The text of an XML document from outside, in the only form that the parser gets: UTF-8, without the document's own
/// encoding declaration, and without anything that the parser cannot process safely.
///
/// On Linux three things end the process: bytes that are not in the declared encoding, a notation declaration, and a
/// processing instruction without data. libxml2, or the layer of Foundation above libxml2, then reads beyond the end of
/// a buffer or uses a null pointer as a text.
package struct XMLText: Sendable {
    /// A construct that a document must not contain.
    package enum Hazard: Error, Sendable {
        /// `<!DOCTYPE` or `<!ENTITY`, even within a comment. Only a parser could recognize a comment, and no honest
        /// document contains these texts.
        case documentType
        /// A processing instruction without data: `<?target?>`. `<?target ?>` is allowed, because it has empty data.
        case emptyInstruction
    }

    /// The document with an XML declaration that names UTF-8.
    package let data: Data

    /// - Parameter body: valid UTF-8 without the XML declaration.
    package init(_ body: some Collection<UInt8>) throws(Hazard) {
        let bytes = Array(#"<?xml version="1.0" encoding="UTF-8"?>"#.utf8) + body
        if let hazard = Self.hazard(bytes[...]) { throw hazard }
        data = Data(bytes)
    }

    /// Accepts a document in UTF-8, whatever encoding it declares.
    ///
    /// - Returns: `nil` for bytes that are not UTF-8, and for a document with a ``Hazard`` or an unterminated
    ///   declaration.
    package init?(utf8 bytes: some Collection<UInt8>) {
        let text = Array(bytes)
        guard !text.contains(0), String(validating: text, as: UTF8.self) != nil else { return nil }
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        guard let body = Self.split(text.dropFirst(text.starts(with: mark) ? mark.count : 0))?.rest else { return nil }
        do throws(Hazard) { try self.init(body) } catch { return nil }
    }

    /// Splits `text` into the XML declaration (`<?xml … ?>`), which is empty if there is none, and the rest.
    ///
    /// - Returns: `nil` if the declaration does not end in the first 1,024 bytes.
    package static func split(_ text: ArraySlice<UInt8>) -> (declaration: ArraySlice<UInt8>, rest: ArraySlice<UInt8>)? {
        guard text.starts(with: "<?xml".utf8), let after = text.dropFirst(5).first, after.isXMLBlank else {
            return (text.prefix(0), text)
        }
        let longest = text.prefix(1024)
        guard let end = longest.indices.dropLast().first(where: { longest[$0...].starts(with: "?>".utf8) }) else {
            return nil
        }
        return (text[..<end], text[(end + 2)...])
    }

    private static func hazard(_ text: ArraySlice<UInt8>) -> Hazard? {
        var rest = text
        while let opening = rest.firstIndex(of: UInt8(ascii: "<")) {
            rest = rest[opening...].dropFirst()
            switch rest.first {
            case UInt8(ascii: "!") where rest.starts(with: "!DOCTYPE".utf8) || rest.starts(with: "!ENTITY".utf8):
                return .documentType
            case UInt8(ascii: "?") where isEmptyInstruction(rest.dropFirst()): return .emptyInstruction
            default: break
            }
        }
        return nil
    }

    /// Whether `rest` begins with `target?>`. Stops at a `<`, so that all calls together take linear time.
    private static func isEmptyInstruction(_ rest: ArraySlice<UInt8>) -> Bool {
        let question = UInt8(ascii: "?")
        return rest.drop { !$0.isXMLBlank && $0 != UInt8(ascii: "<") && $0 != question }.starts(with: "?>".utf8)
    }
}

extension UInt8 {
    /// Whether this byte is white space in XML. Unicode has more kinds of white space.
    package var isXMLBlank: Bool { self == 0x20 || self == 0x0A || self == 0x0D || self == 0x09 }
}

extension XMLParser {
    /// Returns a namespace-aware parser for a document from outside. The parser loads nothing from outside the
    /// document.
    package static func confined(_ text: XMLText) -> XMLParser { confined(text.data) }

    /// Returns the same parser for bytes. Tests pass bytes that ``XMLText`` has not checked.
    package static func confined(_ xml: Data) -> XMLParser {
        // A stream, because the parser refuses data of more than 10 MB in one piece.
        let parser = XMLParser(stream: InputStream(data: xml))
        parser.shouldProcessNamespaces = true
        parser.shouldResolveExternalEntities = false
        #if canImport(FoundationXML)
            parser.externalEntityResolvingPolicy = .never
        #endif
        return parser
    }
}
