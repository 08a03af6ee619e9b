internal import HTTPTypes
package import HaulKit

/// The proxy of downloads as a text: a URL, or `direct` for none.
package enum ProxyText {
    private static let none = "direct"

    /// Returns the proxies of a text.
    ///
    /// - Parameter environment: the proxies for an empty text.
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/proxyFailed`` for a text that is no proxy. The
    ///   message contains no password.
    package static func settings(_ text: String, _ environment: ProxySettings?) throws(DownloadError) -> ProxySettings {
        let direct = try ProxySettings.environment([:])
        if text.isEmpty { return environment ?? direct }
        return text == none ? direct : try ProxySettings(url: text)
    }

    /// Returns the text without user name and password.
    package static func masked(_ text: String) -> String {
        guard !text.isEmpty, text != none else { return text }
        // Hides the whole text if it is no proxy, because it may be a password.
        guard let proxy = try? ProxySettings.Proxy(text) else { return hidden }
        return proxy.credentials == nil
            ? proxy.description : proxy.description.replacing("://", with: "://\(hidden)@", maxReplacements: 1)
    }

    /// Text that ``masked(_:)`` shows in place of user name and password.
    static let hidden = "***"
}
