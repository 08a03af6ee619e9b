internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL

/// An HTTP/1.1 server on 127.0.0.1 that serves files, with or without faults.
///
/// ```swift
/// let server = try await TestServer.start(serving: ["/file.bin": FileResource(bytes, etag: "\"1\"")])
/// let file = try await downloader.download(server.url("/file.bin"), to: folder).result()
/// await server.stop()
/// ```
///
/// The server has threads of its own, so a test that blocks the cooperative thread pool does not stop the server. The
/// server runs until ``stop()``, even if nothing refers to it any more.
public final class TestServer: Sendable {
    /// The threads of all test servers and proxies of the process.
    static let threads = MultiThreadedEventLoopGroup(numberOfThreads: 2)

    private let channel: any Channel
    private let log: ServerLog<TestRequest>
    private let answers: AnswerCount
    private let isSecure: Bool

    /// The port that the server listens on; never 0.
    package let port: Int

    private init(channel: any Channel, port: Int, log: ServerLog<TestRequest>, answers: AnswerCount, isSecure: Bool) {
        self.channel = channel
        self.port = port
        self.log = log
        self.answers = answers
        self.isSecure = isSecure
    }

    /// Starts a server that serves these files by their paths, and answers 404 for every other path.
    ///
    /// - Parameters:
    ///   - files: the files by their paths, which start with a slash. A query is ignored.
    ///   - port: the port to listen on; 0 for any.
    /// - Throws: the error of the system if the server cannot listen.
    public static func start(serving files: [String: FileResource], port: Int = 0) async throws -> TestServer {
        try await start(serving: files, port: port, tls: nil)
    }

    /// Starts a server as ``start(serving:port:)`` does.
    ///
    /// - Parameter tls: the certificate to serve HTTPS with; `nil` for plain HTTP.
    /// - Throws: also an error if the certificate cannot be read.
    package static func start(
        serving files: [String: FileResource],
        port: Int = 0,
        tls: TestCertificate?
    ) async throws -> TestServer {
        try await start(port: port, tls: tls) { request in
            files[request.path]?.reply(to: request) ?? .empty(404, "Not Found")
        }
    }

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - host: the address to listen on. ``url(_:)`` names 127.0.0.1, or localhost with TLS, whatever the host is.
    ///   - port: the port to listen on; 0 for any.
    ///   - tls: the certificate to serve HTTPS with; `nil` for plain HTTP.
    ///   - onAccept: decides on a connection by its number, counted from 1.
    ///   - handler: answers a request. The server calls the handler on one of its threads, so the handler must not
    ///     block.
    /// - Throws: the error of the system if the server cannot listen or the certificate cannot be read.
    package static func start(
        host: String = "127.0.0.1",
        port: Int = 0,
        tls: TestCertificate? = nil,
        onAccept: (@Sendable (Int) -> ConnectionDecision)? = nil,
        handler: @escaping @Sendable (TestRequest) -> TestReply
    ) async throws -> TestServer {
        let log = ServerLog<TestRequest>()
        let answers = AnswerCount()
        let context = try tls.map { try $0.serverContext() }
        let channel = try await listen(host: host, port: port) { channel in
            guard let number = log.opened(channel) else { return channel.closeTransport() }
            let pipeline = channel.pipeline.syncOperations
            let decision = onAccept?(number) ?? .serve
            guard case .serve = decision else { return try pipeline.addHandler(ConnectionDecisionHandler(decision)) }
            if let context { try pipeline.addHandler(NIOSSLServerHandler(context: context)) }
            try pipeline.addHandler(ByteToMessageHandler(HTTPRequestDecoder()))
            try pipeline.addHandler(ConnectionHandler(number: number, log: log, answers: answers, handler: handler))
        }
        let bound = channel.localAddress?.port ?? port
        return TestServer(channel: channel, port: bound, log: log, answers: answers, isSecure: context != nil)
    }

    /// Stops listening and closes every connection; returns when all are closed.
    public func stop() async {
        // Fails if the channel is closed already.
        try? await channel.close()
        await log.stop()
    }

    /// Returns the URL of a path, which starts with a slash: `http://127.0.0.1:…`, or with TLS `https://localhost:…`.
    public func url(_ path: String) -> String {
        (isSecure ? "https://localhost" : "http://127.0.0.1") + ":\(port)\(path)"
    }

    /// The requests received so far, in the order of their numbers.
    package var requests: [TestRequest] { log.entries }

    /// Number of body bytes that the system took from the server so far. A client can have read a little less.
    package var bodyBytesSent: Int64 { log.bodyBytesSent }

    /// The largest number of requests that were being answered together for a quarter of a second. Shorter times do not
    /// count, because the server notices a closed connection a little later than the client.
    package var mostAnswersAtOnce: Int { answers.most(for: .milliseconds(250)) }

    /// Listens, and calls `setUp` for every accepted connection on its event loop.
    static func listen(
        host: String = "127.0.0.1",
        port: Int,
        setUp: @escaping @Sendable (any Channel) throws -> Void
    ) async throws -> any Channel {
        try await ServerBootstrap(group: threads)
            .serverChannelOption(.backlog, value: 256)
            // A test may stop a server and start another on the same port.
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try setUp(channel) }
            }
            .bind(host: host, port: port)
            .get()
    }
}
