internal import Foundation

/// The source readers of a downloader, each found by the scheme of a URL. Decides which URLs can be downloaded.
package struct SourceReaders: Sendable {
    private let readers: [any SourceReading]
    private let readersByScheme: [String: any SourceReading]

    /// - Parameter readers: the first of two readers of one scheme is used.
    package init(_ readers: any SourceReading...) {
        self.readers = readers
        readersByScheme = Dictionary(readers.flatMap { reader in reader.schemes.map { ($0, reader) } }) { first, _ in
            first
        }
    }

    /// The first reader that posts webhooks; `nil` if none does.
    var webhookPoster: (any WebhookPoster)? { readers.lazy.compactMap { $0 as? any WebhookPoster }.first }

    // MARK: Which URLs

    /// Checks whether a URL can be downloaded.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/invalidURL`` or
    ///   ``DownloadError/Code/unsupportedScheme``.
    func check(_ url: URL) throws(DownloadError) {
        guard let scheme = url.scheme else {
            throw DownloadError(
                .invalidURL,
                "This is no URL: \(url.messageText). It should begin with http:// or https://."
            )
        }
        guard let reader = reader(ofScheme: scheme) else { throw unsupported(scheme) }
        try reader.check(url)
    }

    /// Whether a URL can be downloaded.
    func canRead(_ url: URL) -> Bool {
        do throws(DownloadError) { try check(url) } catch { return false }
        return true
    }

    /// Returns the schemes of all readers as text, such as `http or https`.
    func schemes(_ conjunction: String) -> String {
        let schemes = readers.flatMap(\.schemes)
        let front = schemes.dropLast().joined(separator: ", ")
        return schemes.count > 1 ? "\(front) \(conjunction) \(schemes[schemes.count - 1])" : schemes.joined()
    }

    private func unsupported(_ scheme: String) -> DownloadError {
        DownloadError(
            .unsupportedScheme,
            // Does not repeat a long scheme: in a text that is no URL, the scheme may be a user name, which may be a
            // token.
            "Haul downloads \(schemes("and")) URLs, not \(Self.isWord(scheme) ? scheme.lowercased() : "others")."
        )
    }

    private static func isWord(_ scheme: String) -> Bool { scheme.utf8.count <= 10 && scheme.allSatisfy(\.isLetter) }

    private func reader(ofScheme scheme: String) -> (any SourceReading)? {
        readersByScheme[scheme] ?? readersByScheme[scheme.lowercased()]
    }

    // MARK: Requests

    /// Starts a request with the reader for the scheme of its URL; see ``SourceReading/open(_:receiver:)``.
    func open(_ request: TransportRequest, receiver: any ResponseReceiver) -> any Exchange {
        let scheme = request.url.scheme ?? ""
        guard let reader = reader(ofScheme: scheme) else {
            // The store may have downloads of a program that had a reader for this scheme.
            receiver.ended(TransportError(reporting: unsupported(scheme)))
            return EndedExchange()
        }
        return reader.open(request, receiver: receiver)
    }

    /// Passes changed settings to every reader; they apply to later requests.
    func take(_ configuration: Downloader.Configuration) {
        for reader in readers { reader.take(configuration) }
    }

    func shutDown() async {
        for reader in readers { await reader.shutDown() }
    }
}

private struct EndedExchange: Exchange {
    func cancel() {}
}
