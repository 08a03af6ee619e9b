package import Foundation

#if canImport(FoundationXML)
    package import FoundationXML
#endif

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
