package import Foundation

extension HTTPURL {
    /// The schemes of HTTP (RFC 9110 §4.2).
    package static let schemes = ["http", "https"]

    /// Checks whether a URL of these schemes can be requested.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/invalidURL``.
    package static func check(_ url: URL) throws(DownloadError) {
        guard url.isAskable else {
            throw DownloadError(
                .invalidURL,
                "This URL names no host, or a port that does not exist: \(url.messageText)."
            )
        }
    }
}

extension URL {
    /// Whether an HTTP request can be made for the URL. The layers below trap on impossible ports and host names.
    package var isAskable: Bool {
        guard let scheme, HTTPURL.schemes.contains(scheme.lowercased()), let host else { return false }
        return HTTPHost.isPossible(host) && (1...65535).contains(port ?? 80)
    }
}
