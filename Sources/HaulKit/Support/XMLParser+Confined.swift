#if canImport(FoundationXML)
    internal import Foundation
    package import FoundationXML
#else
    package import Foundation
#endif

extension XMLParser {
    /// A parser of a document from outside: with namespaces, and never with anything from outside the document.
    package static func confined(_ text: XMLText) -> XMLParser { confined(text.data) }

    /// The same for bytes of which ``XMLText`` knows nothing, as in tests of what happens then.
    static func confined(_ xml: Data) -> XMLParser {
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
