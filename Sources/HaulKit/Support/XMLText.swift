internal import Foundation

/// The text of an XML document from outside, in the only form that is shown to the parser: UTF-8 without a declaration of its encoding and
/// without what the parser cannot bear.
///
/// On Linux bytes that are not in the encoding that they declare end the process, as do a declaration of a notation and a processing
/// instruction without data: libxml2 or what lies over it reads past the end, or hands a missing text on as if it were one.
package struct XMLText: Sendable {
    /// What a document cannot contain.
    package enum Hazard: Error, Sendable {
        /// `<!DOCTYPE` or `<!ENTITY`, even within a comment: no honest document contains that, and to tell would take a parser.
        case documentType
        /// `<?target?>`, where `<?target ?>` has data: none.
        case emptyInstruction
    }

    /// With a declaration that says UTF-8.
    let data: Data

    /// - Parameter body: in valid UTF-8, without its declaration.
    init(_ body: some Collection<UInt8>) throws(Hazard) {
        let bytes = Array(#"<?xml version="1.0" encoding="UTF-8"?>"#.utf8) + body
        if let hazard = Self.hazard(bytes[...]) { throw hazard }
        data = Data(bytes)
    }

    /// A document that is in UTF-8, whatever it says of its encoding.
    ///
    /// - Returns: nil for bytes that are not, or a document with a hazard.
    package init?(utf8 bytes: some Collection<UInt8>) {
        let text = Array(bytes)
        guard !text.contains(0), String(validating: text, as: UTF8.self) != nil else { return nil }
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        guard let body = Self.split(text.dropFirst(text.starts(with: mark) ? mark.count : 0))?.rest else { return nil }
        do throws(Hazard) { try self.init(body) } catch { return nil }
    }

    /// The XML declaration (`<?xml … ?>`), which is empty where there is none, and what follows it.
    ///
    /// - Returns: nil where it does not end in the first 1,024 bytes.
    static func split(_ text: ArraySlice<UInt8>) -> (declaration: ArraySlice<UInt8>, rest: ArraySlice<UInt8>)? {
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

    /// Whether `target?>` is what follows. Stops at a `<`, so that all looks together take a time that grows with the document and not
    /// faster.
    private static func isEmptyInstruction(_ rest: ArraySlice<UInt8>) -> Bool {
        let question = UInt8(ascii: "?")
        return rest.drop { !$0.isXMLBlank && $0 != UInt8(ascii: "<") && $0 != question }.starts(with: "?>".utf8)
    }
}

extension UInt8 {
    /// Whether this is white space in XML, which is less than in Unicode.
    var isXMLBlank: Bool { self == 0x20 || self == 0x0A || self == 0x0D || self == 0x09 }
}
