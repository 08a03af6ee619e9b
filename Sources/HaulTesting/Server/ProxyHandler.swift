internal import NIOCore
internal import NIOPosix

/// The client's side of a proxy: reads the client's requests, connects to origins and passes the bytes on.
final class ProxyHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private enum Phase {
        case http, socksGreeting, socksRequest, tunnel
    }

    private let authorization: String?
    private let reply: UInt8
    private let greeting: [UInt8]?
    private let record: (TestProxy.Entry) -> Void
    private var phase: Phase
    private var received = ByteBuffer()
    private var isDialing = false
    private var origin: (authority: String, channel: any Channel)?

    init(
        kind: TestProxy.Kind,
        authorization: String?,
        reply: UInt8,
        greeting: [UInt8]?,
        record: @escaping (TestProxy.Entry) -> Void
    ) {
        self.authorization = authorization
        self.reply = reply
        self.greeting = greeting
        self.record = record
        phase = kind == .http ? .http : .socksGreeting
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if let greeting {
            received.clear()
            return refuse(context.channel, with: greeting)
        }
        var buffer = unwrapInboundIn(data)
        received.writeBuffer(&buffer)
        proceed(context.channel)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        origin?.channel.setOption(.autoRead, value: context.channel.isWritable).whenComplete { _ in }
    }

    func channelInactive(context: ChannelHandlerContext) {
        origin?.channel.closeWhenFlushed()
        origin = nil
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func proceed(_ client: any Channel) {
        var hasMore = true
        while hasMore, !isDialing, received.readableBytes > 0 {
            switch phase {
            case .http: hasMore = takeHead(client)
            case .socksGreeting: hasMore = takeGreeting(client)
            case .socksRequest: hasMore = takeSOCKSRequest(client)
            case .tunnel:
                origin?.channel.writeAndFlush(received, promise: nil)
                received = ByteBuffer()
            }
        }
    }

    private func takeHead(_ client: any Channel) -> Bool {
        guard let head = ProxyHead(readFrom: &received) else { return false }
        let entry = TestProxy.Entry(method: head.method, target: head.target, headers: head.headers)
        record(entry)
        if let authorization, entry["Proxy-Authorization"] != authorization {
            let fields = "Proxy-Authenticate: Basic realm=\"test\"\r\nContent-Length: 0\r\nConnection: close"
            refuse(client, with: Array("HTTP/1.1 407 Proxy Authentication Required\r\n\(fields)\r\n\r\n".utf8))
            return false
        }
        if let origin, origin.authority == head.authority, head.method != "CONNECT" {
            origin.channel.writeAndFlush(ByteBuffer(string: head.forOrigin), promise: nil)
            return true
        }
        let refusal = Array("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".utf8)
        let (host, port) = head.address
        dial(host, port, authority: head.authority, for: client, refusal: refusal) { [self] origin in
            if head.method == "CONNECT" {
                phase = .tunnel
                client.writeAndFlush(ByteBuffer(string: "HTTP/1.1 200 Connection established\r\n\r\n"), promise: nil)
            } else {
                origin.writeAndFlush(ByteBuffer(string: head.forOrigin), promise: nil)
            }
        }
        return false
    }

    /// Reads the SOCKS greeting (version, number of methods, methods) and answers with "no authentication".
    private func takeGreeting(_ client: any Channel) -> Bool {
        guard let count = received.getInteger(at: received.readerIndex + 1, as: UInt8.self),
            received.readSlice(length: 2 + Int(count)) != nil
        else { return false }
        client.writeAndFlush(ByteBuffer(bytes: [5, 0]), promise: nil)
        phase = .socksRequest
        return true
    }

    private func takeSOCKSRequest(_ client: any Channel) -> Bool {
        guard let (host, port) = received.readSOCKSAddress() else { return false }
        let authority = "\(host):\(port)"
        record(TestProxy.Entry(method: "SOCKS5", target: authority, headers: []))
        let bound: [UInt8] = [0, 1, 0, 0, 0, 0, 0, 0]
        if reply != 0 {
            refuse(client, with: [5, reply] + bound)
            return false
        }
        dial(host, port, authority: authority, for: client, refusal: [5, 5] + bound) { [self] _ in
            phase = .tunnel
            client.writeAndFlush(ByteBuffer(bytes: [5, 0] + bound), promise: nil)
        }
        return false
    }

    private func refuse(_ client: any Channel, with bytes: [UInt8]) {
        client.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil)
        client.closeWhenFlushed()
    }

    /// Connects to an origin in place of the former one, then continues with the bytes that the client sent meanwhile.
    private func dial(
        _ host: String,
        _ port: Int,
        authority: String,
        for client: any Channel,
        refusal: [UInt8],
        then: @escaping (any Channel) -> Void
    ) {
        isDialing = true
        let former = origin?.channel
        origin = nil
        former?.closeWhenFlushed()
        // Reads nothing from the origin before the proxy has answered that the connection exists.
        let bootstrap = ClientBootstrap(group: client.eventLoop).channelOption(.autoRead, value: false)
        bootstrap.connect(host: host, port: port).assumeIsolated().whenComplete { [self] result in
            isDialing = false
            guard case .success(let channel) = result else { return refuse(client, with: refusal) }
            guard client.isActive else { return channel.close(promise: nil) }
            origin = (authority, channel)
            let relay = OriginHandler(client: client) { [weak self] in self?.origin?.channel === channel }
            do { try channel.pipeline.syncOperations.addHandler(relay) } catch {
                // The origin has closed the connection meanwhile.
                origin = nil
                channel.close(promise: nil)
                return refuse(client, with: refusal)
            }
            then(channel)
            channel.setOption(.autoRead, value: true).whenComplete { _ in }
            proceed(client)
        }
    }
}

extension ByteBuffer {
    /// Takes a SOCKS 5 CONNECT request out of the buffer; `nil` if the request is not complete.
    mutating func readSOCKSAddress() -> (host: String, port: Int)? {
        var bytes = self
        guard let (_, _, _, kind) = bytes.readMultipleIntegers(as: (UInt8, UInt8, UInt8, UInt8).self) else {
            return nil
        }
        let length = kind == 1 ? 4 : kind == 4 ? 16 : bytes.readInteger(as: UInt8.self).map { Int($0) }
        guard let length, var name = bytes.readSlice(length: length), let port = bytes.readInteger(as: UInt16.self)
        else { return nil }
        self = bytes
        if kind == 3 { return (String(buffer: name), Int(port)) }
        // Fails only for a kind of address that does not exist. No connection to the empty host is possible.
        let address = try? SocketAddress(packedIPAddress: name.readSlice(length: length) ?? name, port: Int(port))
        return (address?.ipAddress ?? "", Int(port))
    }
}
