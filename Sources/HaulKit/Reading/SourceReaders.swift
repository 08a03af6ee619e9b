internal import Foundation

/// The readers of a downloader, by the schemes of URLs: what can be downloaded at all is decided here.
package struct SourceReaders: Sendable {
    private let readers: [any SourceReading]
    private let readersByScheme: [String: any SourceReading]

    /// - Parameter readers: of two readers of one scheme the first is asked.
    package init(_ readers: any SourceReading...) {
        self.readers = readers
        readersByScheme = Dictionary(readers.flatMap { reader in reader.schemes.map { ($0, reader) } }) { first, _ in
            first
        }
    }

    /// What posts webhooks; nil where no reader does.
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

    /// `http or https`.
    func schemes(_ conjunction: String) -> String {
        let schemes = readers.flatMap(\.schemes)
        let front = schemes.dropLast().joined(separator: ", ")
        return schemes.count > 1 ? "\(front) \(conjunction) \(schemes[schemes.count - 1])" : schemes.joined()
    }

    private func unsupported(_ scheme: String) -> DownloadError {
        DownloadError(
            .unsupportedScheme,
            "Haul downloads \(schemes("and")) URLs, not \(scheme.lowercased())."
        )
    }

    private func reader(ofScheme scheme: String) -> (any SourceReading)? {
        readersByScheme[scheme] ?? readersByScheme[scheme.lowercased()]
    }

    // MARK: Requests

    /// Starts a request at the reader of its URL: see ``SourceReading/open(_:receiver:)``.
    func open(_ request: TransportRequest, receiver: any ResponseReceiver) -> any Exchange {
        let scheme = request.url.scheme ?? ""
        guard let reader = reader(ofScheme: scheme) else {
            // A stored download, of a program that had a reader for it.
            receiver.ended(TransportError(reporting: unsupported(scheme)))
            return EndedExchange()
        }
        return reader.open(request, receiver: receiver)
    }

    /// Has every reader take over changed settings for the requests to come.
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
