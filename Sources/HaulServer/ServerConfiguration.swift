/// Where ``HaulServer`` listens, what it lets in, and where files may go.
public struct ServerConfiguration: Sendable, Hashable {
    /// An address that TCP connections are taken at.
    public struct Listener: Sendable, Hashable, CustomStringConvertible {
        /// IP address or host name.
        public var host: String
        /// 0 lets the system choose.
        public var port: Int

        /// An address and a port.
        public init(host: String = "127.0.0.1", port: Int = 4285) { (self.host, self.port) = (host, port) }

        /// Reads `PORT`, `HOST:PORT` or `[IPv6]:PORT`; nil for anything else.
        public init?(_ text: String) {
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

        /// `HOST:PORT`.
        public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
    }

    /// Address of the page and the API; nil for the socket alone.
    public var listener: Listener? = Listener()
    /// Path of the Unix socket for commands of the same user; nil for none.
    public var socketPath: String?
    /// Folder of the token, the sessions and the lock. It must exist.
    public var stateFolder: String
    /// Folder for downloads that name none.
    public var folder: String
    /// Folders that downloads may be saved in, with everything below. ``folder`` is always one of them.
    public var roots: [String] = []
    /// Host names besides `localhost` and IP addresses that a request may name, in lower case and without a port.
    public var allowedHosts: Set<String> = []
    /// IP addresses of proxies of which `X-Forwarded-Proto` is believed.
    public var trustedProxies: Set<String> = []
    /// Event streams that may be open at once.
    public var maxEventStreams = 32
    /// Connections that may be open at once; further ones wait.
    public var maxConnections = 512

    /// A configuration with defaults for everything else.
    ///
    /// - Parameters:
    ///   - stateFolder: absolute path.
    ///   - folder: absolute path.
    public init(stateFolder: String, folder: String) { (self.stateFolder, self.folder) = (stateFolder, folder) }
}
