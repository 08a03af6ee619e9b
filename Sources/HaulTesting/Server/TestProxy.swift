internal import NIOCore

/// A proxy on 127.0.0.1 that records requests and forwards them to their origins.
package final class TestProxy: Sendable {
    /// The protocol of a proxy.
    package enum Kind: Sendable {
        /// CONNECT, and requests without a body in the absolute form.
        case http
        /// SOCKS 5 without authentication.
        case socks5
    }

    /// A request that the proxy received.
    package struct Entry: Sendable {
        /// `CONNECT`, the method of a request in the absolute form, or `SOCKS5`.
        package let method: String
        /// `host:port`, or the absolute address.
        package let target: String
        /// The header fields; none with SOCKS.
        package let headers: [(String, String)]

        /// The value of the first header field of that name, whatever its case.
        package subscript(name: String) -> String? {
            headers.first { $0.0.lowercased() == name.lowercased() }?.1
        }
    }

    private let channel: any Channel
    private let log: ServerLog<Entry>
    private let kind: Kind

    /// The port that the proxy listens on; never 0.
    package let port: Int

    private init(channel: any Channel, port: Int, log: ServerLog<Entry>, kind: Kind) {
        self.channel = channel
        self.port = port
        self.log = log
        self.kind = kind
    }

    /// Starts a proxy.
    ///
    /// - Parameters:
    ///   - kind: the protocol of the proxy.
    ///   - port: the port to listen on; 0 for any.
    ///   - authorization: the `Proxy-Authorization` that an HTTP proxy requires; without it the answer is 407.
    ///   - reply: the code that a SOCKS proxy replies to each request (RFC 1928 §6); 0 to make the connection.
    ///   - greeting: bytes that the proxy sends after the first bytes of a client, in place of its protocol. Then it
    ///     closes the connection.
    package static func start(
        _ kind: Kind,
        port: Int = 0,
        authorization: String? = nil,
        reply: UInt8 = 0,
        greeting: [UInt8]? = nil
    ) async throws -> TestProxy {
        let log = ServerLog<Entry>()
        let channel = try await TestServer.listen(port: port) { channel in
            guard log.opened(channel) != nil else { return channel.closeTransport() }
            let record: (Entry) -> Void = { entry in _ = log.record { _ in entry } }
            let handler = ProxyHandler(
                kind: kind,
                authorization: authorization,
                reply: reply,
                greeting: greeting,
                record: record
            )
            try channel.pipeline.syncOperations.addHandler(handler)
        }
        return TestProxy(channel: channel, port: channel.localAddress?.port ?? port, log: log, kind: kind)
    }

    /// Stops listening and closes every connection.
    package func stop() async {
        // Fails if the channel is closed already.
        try? await channel.close()
        await log.stop()
    }

    /// The proxy's own address, `http://…` or `socks5://…`.
    package var url: String {
        switch kind {
        case .http: "http://127.0.0.1:\(port)"
        case .socks5: "socks5://127.0.0.1:\(port)"
        }
    }

    /// The requests so far.
    package var entries: [Entry] { log.entries }
}
