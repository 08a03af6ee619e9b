package import HaulKit

/// Addresses at which ``HaulServer`` listens, the hosts and proxies it accepts, and the folders for files.
package struct ServerConfiguration: Sendable, Hashable {
    /// An address at which the server accepts TCP connections.
    package struct Listener: Sendable, Hashable, CustomStringConvertible {
        /// IP address or host name.
        package var host: String
        /// Port number; 0 lets the system choose a free port.
        package var port: Int

        /// Creates an address; by default `127.0.0.1:4285`, for this machine only.
        package init(host: String = "127.0.0.1", port: Int = 4285) { (self.host, self.port) = (host, port) }

        /// Reads `PORT`, `HOST:PORT` or `[IPv6]:PORT`; returns `nil` for any other text. The host of `PORT` is
        /// `127.0.0.1`.
        package init?(_ text: String) {
            let end = text.lastIndex(of: ":")
            let (host, digits) =
                end.map { (String(text[..<$0]), text[text.index(after: $0)...]) } ?? ("127.0.0.1", text[...])
            guard let port = Int(digits), (0...65_535).contains(port), !host.isEmpty else { return nil }
            if host.hasPrefix("["), host.hasSuffix("]") {
                self.init(host: String(host.dropFirst().dropLast()), port: port)
            } else if host.contains(":") {
                return nil
            } else {
                self.init(host: host, port: port)
            }
        }

        /// `HOST:PORT`, with brackets around an IPv6 address.
        package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
    }

    /// Address of the page and the API; `nil` to listen only at ``socketPath``.
    package var listener: Listener? = Listener()
    /// Path of the Unix socket for commands of the same user; `nil` for none.
    package var socketPath: String?
    /// Folder of the token, the sessions and the lock. The folder must exist.
    package var stateFolder: String
    /// Folder for downloads that name no folder.
    package var folder: String
    /// Folders in which downloads may be saved, including their subfolders. ``folder`` is always allowed too.
    package var roots: [String] = []
    /// Rules, and folders of groups, from the settings with which the daemon was started.
    package var placement = PlacementRules()
    /// `User-Agent` of the requests of downloads.
    package var userAgent = "haul/" + Downloader.version
    /// Proxy of downloads for all URLs, as ``ProxyText`` reads it; empty for ``environmentProxies``.
    package var proxy = ""
    /// Proxies from environment variables; `nil` for none.
    package var environmentProxies: ProxySettings?
    /// Address and access token of the hub of sets. The API never shows the token.
    package var hub = HubAccess()

    /// Returns the access to the hub for the sets of `owner`: without the access token if the owner is the key of an
    /// extension, because such a key has rights only to what it added itself.
    func hub(for owner: String?) -> HubAccess { owner == nil ? hub : HubAccess(endpoint: hub.endpoint) }

    /// Host names that a request may name besides `localhost` and IP addresses; in lower case, without a port.
    package var allowedHosts: Set<String> = []
    /// IP addresses of proxies whose `X-Forwarded-Proto` field is trusted.
    package var trustedProxies: Set<String> = []
    /// Maximum number of open event streams. A request for a further one gets 503.
    package var maxEventStreams = 32
    /// Whether films and music can be played while they are downloaded.
    package var playsUnfinished = true
    /// Maximum number of open connections for each listener; further connections wait.
    package var maxConnections = 512

    /// Creates a configuration with defaults for everything else.
    ///
    /// - Parameters:
    ///   - stateFolder: absolute path.
    ///   - folder: absolute path.
    package init(stateFolder: String, folder: String) { (self.stateFolder, self.folder) = (stateFolder, folder) }
}
