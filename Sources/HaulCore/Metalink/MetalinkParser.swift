internal import Foundation

#if canImport(FoundationXML)
    internal import FoundationXML
#endif

/// Runs the system's XML parser over a document and passes the elements to ``MetalinkReader``. Stops at the first error
/// or exceeded limit.
final class MetalinkParser: NSObject, XMLParserDelegate {
    private let limits: Metalink.Limits
    private var reader: MetalinkReader
    private var failure: DownloadError?
    private var depth = 0
    private var namespaces = 0
    private var hasEnded = false
    /// The text of the innermost element, so far.
    private var text = ""
    private var hasChildren = false

    private init(limits: Metalink.Limits) {
        self.limits = limits
        reader = MetalinkReader(limits: limits)
    }

    /// - Throws: ``DownloadError/Code/invalidMetalink``.
    static func contents(of document: MetalinkDocument, limits: Metalink.Limits) throws(DownloadError)
        -> Metalink.Contents
    {
        try contents(ofChecked: document.xml.data, limits: limits)
    }

    /// Parses XML without the checks of ``MetalinkDocument``. Only tests call this, with input that
    /// ``MetalinkDocument`` refuses.
    static func files(inChecked xml: Data, limits: Metalink.Limits) throws(DownloadError) -> [Metalink.File] {
        try contents(ofChecked: xml, limits: limits).files
    }

    private static func contents(ofChecked xml: Data, limits: Metalink.Limits) throws(DownloadError)
        -> Metalink.Contents
    {
        let parser = XMLParser.confined(xml)
        let delegate = MetalinkParser(limits: limits)
        parser.delegate = delegate
        parser.shouldReportNamespacePrefixes = true
        // The result of `parse()` is unreliable: on Linux it is `true` for truncated documents. The errors reported to
        // the delegate and the end of the root element decide.
        _ = parser.parse()
        if let failure = delegate.failure { throw failure }
        guard delegate.hasEnded else { throw .invalidMetalink("it is no complete XML document") }
        return try delegate.reader.finish()
    }

    private func stop(_ parser: XMLParser, _ error: DownloadError) {
        if failure == nil { failure = error }
        parser.abortParsing()
    }

    private func refuseDocumentType(_ parser: XMLParser) {
        stop(parser, .invalidMetalink("it declares a document type, which might do harm and has no use here"))
    }

    // MARK: Elements

    func parser(
        _ parser: XMLParser,
        didStartElement name: String,
        namespaceURI: String?,
        qualifiedName: String?,
        attributes: [String: String]
    ) {
        guard failure == nil else { return }
        depth += 1
        text = ""
        hasChildren = false
        guard depth <= limits.depth else {
            return stop(parser, .invalidMetalink("its elements lie more than \(limits.depth) deep within each other"))
        }
        guard attributes.count <= limits.attributes else {
            return stop(parser, .invalidMetalink("an element of it has more than \(limits.attributes) attributes"))
        }
        do throws(DownloadError) {
            try reader.begin(name, namespace: namespaceURI ?? "", attributes: attributes)
        } catch {
            stop(parser, error)
        }
    }

    func parser(_ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?) {
        guard failure == nil else { return }
        depth -= 1
        hasEnded = depth == 0
        do throws(DownloadError) {
            // Text around child elements is not a value.
            try reader.end(text: hasChildren ? "" : text)
        } catch {
            stop(parser, error)
        }
        text = ""
        hasChildren = true
    }

    func parser(_ parser: XMLParser, foundCharacters string: String) {
        guard failure == nil else { return }
        text += string
    }

    func parser(_ parser: XMLParser, foundCDATA block: Data) {
        guard failure == nil else { return }
        text += String(decoding: block, as: UTF8.self)
    }

    func parser(_ parser: XMLParser, didStartMappingPrefix prefix: String, toURI namespaceURI: String) {
        namespaces += 1
        guard namespaces <= limits.namespaces else {
            return stop(parser, .invalidMetalink("it declares more than \(limits.namespaces) namespaces"))
        }
    }

    func parser(_ parser: XMLParser, didEndMappingPrefix prefix: String) { namespaces -= 1 }

    // MARK: What must not be there

    func parser(_ parser: XMLParser, parseErrorOccurred error: any Error) {
        let code = (error as NSError).code
        // libxml2 reports its warnings the same way: XML_WAR_UNKNOWN_VERSION to XML_WAR_NS_URI_RELATIVE.
        guard !(97...100).contains(code) else { return }
        stop(
            parser,
            .invalidMetalink("it is no well-formed XML", cause: "error \(code) in line \(max(parser.lineNumber, 1))")
        )
    }

    /// The parser also calls this method for every undeclared entity.
    func parser(_ parser: XMLParser, resolveExternalEntityName name: String, systemID: String?) -> Data? {
        stop(parser, .invalidMetalink("it refers to an entity, which is no part of a Metalink"))
        return nil
    }

    func parser(_ parser: XMLParser, foundInternalEntityDeclarationWithName name: String, value: String?) {
        refuseDocumentType(parser)
    }

    func parser(
        _ parser: XMLParser,
        foundExternalEntityDeclarationWithName name: String,
        publicID: String?,
        systemID: String?
    ) {
        refuseDocumentType(parser)
    }

    func parser(
        _ parser: XMLParser,
        foundUnparsedEntityDeclarationWithName name: String,
        publicID: String?,
        systemID: String?,
        notationName: String?
    ) {
        refuseDocumentType(parser)
    }

    func parser(
        _ parser: XMLParser,
        foundNotationDeclarationWithName name: String,
        publicID: String?,
        systemID: String?
    ) {
        refuseDocumentType(parser)
    }

    func parser(
        _ parser: XMLParser,
        foundAttributeDeclarationWithName name: String,
        forElement element: String,
        type: String?,
        defaultValue: String?
    ) {
        refuseDocumentType(parser)
    }

    func parser(_ parser: XMLParser, foundElementDeclarationWithName name: String, model: String) {
        refuseDocumentType(parser)
    }
}
