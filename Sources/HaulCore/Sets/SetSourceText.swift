package import Foundation

/// The kind of source that a text names for a set, by its form alone; no server is asked.
package enum SetSourceText: Sendable, Hashable {
    case hub(HubReference)
    case release(ReleaseReference)
    case checksumList(URL)
    case metalink(URL)
    /// The page of a folder; the path of the URL ends in a slash.
    case index(URL)
    /// The path or the `file:` URL of a file on this machine, as it was written.
    case file(String)

    /// - Parameters:
    ///   - text: surrounding white space does not count.
    ///   - hub: the URL of the model hub. A link to the page of one of its repositories counts as a reference. With
    ///     `nil`, no link counts as a reference.
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/invalidURL``, or with
    ///   ``DownloadError/Code/unsupportedScheme`` for a URL of a scheme that is not known.
    package init(_ text: String, hub: URL?) throws(DownloadError) {
        let text = text.trimmingCharacters(in: .whitespacesAndNewlines)
        guard !text.isEmpty else { throw .noURL }
        if HubReference.isReference(text) {
            self = .hub(try HubReference(text))
            return
        }
        guard let scheme = Self.scheme(of: text), scheme != "file" else {
            self = .file(text)
            return
        }
        guard HTTPURL.schemes.contains(scheme) else {
            throw DownloadError(
                .unsupportedScheme,
                "\(URL.cut(URL.maskedWithoutHost(text))) cannot be a set: its URL should begin with http://, https:// or hf://."
            )
        }
        guard let address = HTTPURL(text) else { throw .noURL }
        self = try Self.web(address, hub: hub)
    }

    /// Returns the text of a source for messages: without secrets, cut to the length that a message can hold.
    package static func shown(_ text: String) -> String {
        // A reference to a hub has an `@` before its revision, and no secrets. Any other text is masked as a URL.
        guard (try? HubReference(text)) == nil else { return URL.cut(text) }
        return URL.cut(URL(string: text)?.masked ?? URL.maskedWithoutHost(text))
    }

    private static func web(_ address: HTTPURL, hub: URL?) throws(DownloadError) -> SetSourceText {
        let url = address.url
        let path = String(Substring(address.target.utf8.prefix { $0 != UInt8(ascii: "?") }))
        if let release = ReleaseReference(url) { return .release(release) }
        if let hub, let reference = HubReference(link: url, endpoint: hub) { return .hub(reference) }
        let name = FileName.from(url: url) ?? ""
        if path.hasSuffix("/") { return .index(url) }
        if ChecksumList.isName(name) { return .checksumList(url) }
        if [".meta4", ".metalink"].contains(where: name.lowercased().hasSuffix) { return .metalink(url) }
        throw DownloadError(
            .invalidURL,
            """
            \(url.messageText) names no set: it is no checksum list such as SHA256SUMS, no Metalink, no release, \
            and no folder, whose URL ends in a slash.
            """
        )
    }

    /// Returns the scheme in front of `://`, in lower case; `nil` for a path.
    private static func scheme(of text: String) -> String? {
        guard let end = text.range(of: "://")?.lowerBound else { return nil }
        let scheme = text[..<end].lowercased()
        let isScheme =
            scheme.utf8.first.map { (0x61...0x7A).contains($0) } ?? false
            && scheme.utf8.allSatisfy {
                (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || "+-.".utf8.contains($0)
            }
        return isScheme ? scheme : nil
    }
}
