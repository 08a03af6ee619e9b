internal import Foundation
internal import HaulServer
internal import Logging
internal import NIOCore
internal import NIOHTTP1
internal import NIOWebSocket

/// The objects that all connections of a listener share.
struct Aria2SharedParts: Sendable {
    let endpoint: Aria2Endpoint
    let notifications: Aria2Notifications
    let configuration: Aria2ServerConfiguration
    let rules: Aria2Rules
    let connections: Aria2Connections
    let bodies: Aria2Bodies
    let delays: Aria2Delays
    private let unheard: UnheardConnections

    init(
        _ endpoint: Aria2Endpoint,
        _ notifications: Aria2Notifications,
        _ configuration: Aria2ServerConfiguration,
        delays: Aria2Delays = Aria2Delays()
    ) {
        (self.endpoint, self.notifications) = (endpoint, notifications)
        var configuration = configuration
        configuration.maxRequestBytes = min(configuration.maxRequestBytes, Self.mostRequestBytes)
        self.configuration = configuration
        rules = Aria2Rules(configuration)
        connections = Aria2Connections(most: configuration.maxConnections)
        bodies = Aria2Bodies(most: max(configuration.maxReceivedBytes, 2 * configuration.maxRequestBytes))
        self.delays = delays
        unheard = UnheardConnections(most: max(4, configuration.maxConnections / 4))
    }

    /// Upper limit of `maxRequestBytes`, because SwiftNIO traps on a WebSocket frame or a buffer of more than
    /// `UInt32.max` bytes.
    private static let mostRequestBytes = 1 << 30

    static let jsonPath = "/jsonrpc"
    static let xmlPath = "/rpc"

    /// Returns the path of a request target, without its query.
    static func path(_ target: String) -> Substring { target.prefix { $0 != "?" && $0 != "#" } }

    static func query(_ target: String) -> Substring { target.drop { $0 != "?" }.dropFirst() }

    // MARK: Connections

    /// Longest silence of a client between two requests. On a WebSocket, the server sends a ping after this time.
    private static let idleTime: TimeAmount = .seconds(60)
    /// Maximum size of a head, including its target. The decoder rejects a larger one.
    private static let headBytes = 256 << 10

    /// Installs HTTP on a new connection. A request may upgrade the connection to a WebSocket.
    func install(on channel: any Channel) throws {
        guard connections.open(channel) else {
            channel.close(promise: nil)
            return
        }
        let pipeline = channel.pipeline.syncOperations
        let encoder = HTTPResponseEncoder()
        var limits = NIOHTTPDecoderLimitConfiguration()
        (limits.maxHeaderFieldSize, limits.maxHeaderListSize, limits.maxHeaderFieldCount) = (16 << 10, 32 << 10, 100)
        let decoder = ByteToMessageHandler(
            HTTPRequestDecoder(leftOverBytesStrategy: .forwardBytes, limitConfiguration: limits),
            maximumBufferSize: Self.headBytes
        )
        let rules = ConnectionRules(unheard, timeToFirstHead: .seconds(configuration.secondsToFirstHead))
        let pipelining = HTTPServerPipelineHandler()
        let errors = HTTPServerProtocolErrorHandler()
        let requests = Aria2RequestHandler(self)
        let upgrade = HTTPServerUpgradeHandler(
            upgraders: [upgrader],
            httpEncoder: encoder,
            extraHTTPHandlers: [decoder, rules, pipelining, errors, requests],
            upgradeCompletionHandler: { _ in }
        )
        try pipeline.addHandler(IdleStateHandler(readTimeout: Self.idleTime))
        try pipeline.addHandler(encoder)
        try pipeline.addHandler(decoder)
        try pipeline.addHandlers([rules, pipelining, errors, upgrade, requests])
    }

    private var upgrader: NIOWebSocketServerUpgrader {
        NIOWebSocketServerUpgrader(
            maxFrameSize: configuration.maxRequestBytes,
            shouldUpgrade: { channel, head in
                var answer: HTTPHeaders?
                do throws(Aria2Rules.Refusal) {
                    try rules.check(head)
                    if Self.path(head.uri) == Self.jsonPath, head.method == .GET { answer = [:] }
                } catch {
                    // Refuses the upgrade. The request handler then sends the refusal over HTTP.
                    answer = nil
                }
                return channel.eventLoop.makeSucceededFuture(answer)
            },
            upgradePipelineHandler: { channel, head in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    let unframed = Aria2Share(of: bodies)
                    let decoder = try pipeline.handler(type: ByteToMessageHandler<WebSocketFrameDecoder>.self)
                    try pipeline.addHandler(Aria2SocketMeter(unframed), position: .before(decoder))
                    try pipeline.addHandlers([
                        Aria2SocketReader(self, unframed), Aria2SocketHandler(self, hasToken: hasToken(head)),
                    ])
                }
            }
        )
    }

    /// Whether the target of a WebSocket contains the secret, for clients that listen and never call a method.
    private func hasToken(_ head: HTTPRequestHead) -> Bool {
        endpoint.accepts(
            Self.query(head.uri).split(separator: "&").first { $0.hasPrefix("token=") }?
                .dropFirst("token=".count).removingPercentEncoding
        )
    }
}
