internal import Foundation
internal import HaulKit

#if canImport(FoundationXML)
    internal import FoundationXML
#endif

/// An XML document of a store as a tree.
struct S3XML: Sendable, Hashable {
    var name: String
    var text = ""
    var children: [S3XML] = []

    /// Returns the first child named `name`.
    subscript(name: String) -> S3XML? { children.first { $0.name == name } }

    func text(_ name: String) -> String? { self[name]?.text }

    /// Parses a document. Returns `nil` if the document is incomplete or not UTF-8, has a document type, is nested more
    /// than 16 deep, or has more than 100,000 elements.
    init?(_ bytes: [UInt8]) {
        // Skips spaces, which a store sends before a slow document to keep the connection alive.
        let start = bytes.firstIndex { ![0x20, 0x09, 0x0A, 0x0D].contains($0) } ?? bytes.endIndex
        guard start < bytes.endIndex, let text = XMLText(utf8: bytes[start...]) else { return nil }
        let parser = XMLParser.confined(text)
        let reader = Reader()
        parser.delegate = reader
        // Ignores the result, because on Linux it is `true` for truncated documents too.
        _ = parser.parse()
        guard !reader.isRefused, let root = reader.root else { return nil }
        self = root
    }

    private init(name: String) { self.name = name }

    /// Escapes text for a document to send.
    static func escaped(_ text: String) -> String {
        var escaped = ""
        for character in text.unicodeScalars {
            switch character {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            default: escaped.unicodeScalars.append(character)
            }
        }
        return escaped
    }

    private final class Reader: NSObject, XMLParserDelegate {
        var root: S3XML?
        var isRefused = false
        private var open: [S3XML] = []
        private var count = 0

        private func refuse(_ parser: XMLParser) {
            isRefused = true
            parser.abortParsing()
        }

        func parser(
            _ parser: XMLParser,
            didStartElement name: String,
            namespaceURI: String?,
            qualifiedName: String?,
            attributes: [String: String]
        ) {
            count += 1
            guard root == nil, !isRefused, open.count < 16, count <= 100_000 else { return refuse(parser) }
            open.append(S3XML(name: name))
        }

        func parser(_ parser: XMLParser, foundCharacters string: String) {
            guard !open.isEmpty else { return }
            open[open.count - 1].text += string
        }

        func parser(_ parser: XMLParser, foundCDATA block: Data) {
            self.parser(parser, foundCharacters: String(decoding: block, as: UTF8.self))
        }

        func parser(_ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?) {
            guard !isRefused, let ended = open.popLast() else { return }
            if open.isEmpty { root = ended } else { open[open.count - 1].children.append(ended) }
        }

        func parser(_ parser: XMLParser, parseErrorOccurred error: any Error) {
            // Ignores the warnings that libxml2 also reports here (XML_WAR_UNKNOWN_VERSION to XML_WAR_NS_URI_RELATIVE),
            // because some stores use a relative namespace.
            if !(97...100).contains((error as NSError).code) { refuse(parser) }
        }

        func parser(_ parser: XMLParser, foundInternalEntityDeclarationWithName name: String, value: String?) {
            refuse(parser)
        }

        func parser(
            _ parser: XMLParser,
            foundExternalEntityDeclarationWithName name: String,
            publicID: String?,
            systemID: String?
        ) {
            refuse(parser)
        }
    }
}
