import Foundation
import HaulTesting
import Logging
import NIOCore
import NIOPosix

@testable import HaulAria2
@testable import HaulServer

/// Runs a server of aria2's RPC on a port of its own.
struct Aria2ServerRig: Sendable {
    let session: Aria2SessionRig
    let port: Int
    private let server: Aria2Server

    /// - Parameter delay: time before the answer to a wrong token.
    static func run(
        delay: Duration = .zero,
        configure: (inout Aria2ServerConfiguration) -> Void = { _ in },
        _ body: (Aria2ServerRig) async throws -> Void
    ) async throws {
        var configuration = Aria2ServerConfiguration()
        // The timeouts are so long that a busy machine does not reach them.
        (configuration.secondsToFirstHead, configuration.secondsToBody) = (3600, 3600)
        configuration.listener.port = 0
        configure(&configuration)
        let wanted = configuration
        try await Aria2SessionRig.run(follows: false) { rig in
            let (ports, continuation) = AsyncStream.makeStream(of: Int.self)
            let server = Aria2Server(
                rig.session,
                wanted,
                logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }),
                delays: Aria2Delays(time: delay),
                onListening: { continuation.yield($0.port) }
            )
            let running = Task { try await server.run() }
            var iterator = ports.makeAsyncIterator()
            let port = await iterator.next() ?? 0
            let result = await Result { () async throws in
                try await body(Aria2ServerRig(session: rig, port: port, server: server))
            }
            running.cancel()
            try await running.value
            try result.get()
        }
    }

    /// Waits until the server counts this number of bytes for requests and messages.
    func receives(_ count: Int) async { while server.shared.bodies.count != count { await Task.yield() } }

    /// Sends `text` over a new connection and returns everything that the server sends.
    func exchange(_ text: String) async throws -> String {
        try await Aria2Wire.with(port) { wire in
            try await wire.send(text)
            return try await wire.rest()
        }
    }

    /// Sends a request with `Connection: close` and returns the answer.
    func request(
        _ method: String,
        _ target: String,
        _ fields: [String] = [],
        host: String = "127.0.0.1",
        body: String = ""
    ) async throws -> String {
        let head = ["\(method) \(target) HTTP/1.1", "Host: \(host)", "Connection: close"] + fields
        let length = body.isEmpty ? [] : ["Content-Length: \(body.utf8.count)"]
        return try await exchange((head + length + ["", body]).joined(separator: "\r\n"))
    }
}

/// A connection whose bytes the test writes and reads itself.
struct Aria2Wire {
    private var input: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
    private let output: NIOAsyncChannelOutboundWriter<ByteBuffer>
    private var received = ByteBuffer()

    struct Ended: Error {}

    static func with<Value: Sendable>(
        _ port: Int,
        _ body: (inout Aria2Wire) async throws -> Value
    ) async throws -> Value {
        // The timeout is so long that a busy machine does not reach it.
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(.hours(1))
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        return try await channel.executeThenClose { input, output in
            var wire = Aria2Wire(input: input.makeAsyncIterator(), output: output)
            return try await body(&wire)
        }
    }

    func send(_ text: String) async throws { try await output.write(ByteBuffer(string: text)) }

    func send(bytes: [UInt8]) async throws { try await output.write(ByteBuffer(bytes: bytes)) }

    private mutating func receive() async throws {
        guard let part = try await input.next() else { throw Ended() }
        received.writeImmutableBuffer(part)
    }

    /// Returns the bytes up to the end of the connection. A reset counts as the end.
    mutating func rest() async throws -> String {
        do { while true { try await receive() } } catch { return String(buffer: received) }
    }

    // MARK: WebSocket

    /// Sends a WebSocket handshake and returns the head of the answer.
    mutating func shakeHands(
        _ target: String = "/jsonrpc",
        _ fields: [String] = [],
        version: String = "13",
        connection: String = "Upgrade"
    ) async throws -> String {
        let head =
            [
                "GET \(target) HTTP/1.1", "Host: 127.0.0.1", "Upgrade: websocket", "Connection: \(connection)",
                "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: \(version)",
            ] + fields + ["", ""]
        try await send(head.joined(separator: "\r\n"))
        return try await self.head()
    }

    /// Returns the head of the next response.
    mutating func head() async throws -> String {
        while true {
            let text = String(buffer: received)
            if let end = text.range(of: "\r\n\r\n") {
                let head = String(text[..<end.upperBound])
                received.moveReaderIndex(forwardBy: head.utf8.count)
                return head
            }
            try await receive()
        }
    }

    enum Opcode: UInt8 { case more = 0, text, binary, close = 8, ping, pong }

    func send(_ opcode: Opcode, _ text: String, isFinal: Bool = true, isMasked: Bool = true) async throws {
        try await send(opcode, bytes: Array(text.utf8), isFinal: isFinal, isMasked: isMasked)
    }

    func send(
        _ opcode: Opcode,
        bytes: [UInt8],
        isFinal: Bool = true,
        isMasked: Bool = true,
        reserved: UInt8 = 0
    ) async throws {
        var frame = [opcode.rawValue | reserved | (isFinal ? 0x80 : 0)]
        let mask: UInt8 = isMasked ? 0x80 : 0
        switch bytes.count {
        case 0..<126: frame.append(mask | UInt8(bytes.count))
        case 126..<65536: frame += [mask | 126, UInt8(bytes.count >> 8), UInt8(bytes.count & 0xFF)]
        default: frame += [mask | 127] + (0..<8).reversed().map { UInt8(truncatingIfNeeded: bytes.count >> ($0 * 8)) }
        }
        guard isMasked else { return try await send(bytes: frame + bytes) }
        let key: [UInt8] = [1, 2, 3, 4]
        try await send(bytes: frame + key + bytes.enumerated().map { $1 ^ key[$0 % 4] })
    }

    /// Returns the close code of the server's next frame, or `nil` if the frame is not a close frame.
    mutating func closeCode() async throws -> Int? {
        let frame = try await frame()
        guard frame.opcode == .close, frame.bytes.count >= 2 else { return nil }
        return Int(frame.bytes[0]) << 8 | Int(frame.bytes[1])
    }

    /// Returns the next frame of the server.
    mutating func frame() async throws -> (opcode: Opcode?, text: String, bytes: [UInt8]) {
        while true {
            var copy = received
            if let first = copy.readInteger(as: UInt8.self), let second = copy.readInteger(as: UInt8.self) {
                let count: Int? =
                    switch second {
                    case 126: copy.readInteger(as: UInt16.self).map(Int.init)
                    case 127: copy.readInteger(as: UInt64.self).map(Int.init)
                    default: Int(second)
                    }
                if let count, let bytes = copy.readBytes(length: count) {
                    received = copy
                    return (Opcode(rawValue: first & 0x0F), String(decoding: bytes, as: UTF8.self), bytes)
                }
            }
            try await receive()
        }
    }
}
