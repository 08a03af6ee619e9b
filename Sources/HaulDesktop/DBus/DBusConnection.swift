internal import CHaulSystem
internal import Foundation
internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// A connection to a message bus. Sends calls and reports signals; exports no objects.
final class DBusConnection: Sendable {
    private typealias Answer = Result<DBusMessage, DBusError>
    private struct State {
        var lastSerial: UInt32 = 0
        var waiting: [UInt32: EventLoopPromise<DBusMessage>] = [:]
        var isClosed = false
    }

    private let channel: any Channel
    private let state: SharedState
    /// Yields one element for one or several signals. Ends with the connection.
    let signals: AsyncStream<Void>

    /// State shared by the connection and the handler of its channel.
    private final class SharedState: Sendable {
        let state = Mutex(State())
        let signals: AsyncStream<Void>.Continuation

        init(_ signals: AsyncStream<Void>.Continuation) { self.signals = signals }

        func received(_ message: DBusMessage) {
            if message.kind == .signal { signals.yield() }
            guard message.kind == .answer || message.kind == .error, let serial = message.replySerial else { return }
            let waiting = state.withLock { $0.waiting.removeValue(forKey: serial) }
            if message.kind == .error {
                waiting?.fail(DBusError.refused(message.errorName ?? ""))
            } else {
                waiting?.succeed(message)
            }
        }

        func closed() {
            let waiting = state.withLock { state in
                state.isClosed = true
                defer { state.waiting = [:] }
                return state.waiting
            }
            for promise in waiting.values { promise.fail(DBusError.notConnected) }
            signals.finish()
        }

        func giveUp(_ serial: UInt32) {
            state.withLock { $0.waiting.removeValue(forKey: serial) }?.fail(DBusError.timedOut)
        }
    }

    private init(_ channel: any Channel, _ state: SharedState, _ signals: AsyncStream<Void>) {
        self.channel = channel
        self.state = state
        self.signals = signals
    }

    deinit { close() }

    /// Connects to the first address that answers, authenticates and calls `Hello`.
    static func open(_ addresses: [DBusAddress], until deadline: NIODeadline) async throws(DBusError) -> DBusConnection
    {
        var failure = DBusError.notConnected
        for address in addresses {
            do throws(DBusError) { return try await open(address, until: deadline) } catch { failure = error }
        }
        throw failure
    }

    private static func open(_ address: DBusAddress, until deadline: NIODeadline) async throws(DBusError)
        -> DBusConnection
    {
        let descriptor =
            switch address {
            case .path(let path): try LocalSocket.connect(to: path, isAbstract: false)
            case .abstract(let name): try LocalSocket.connect(to: name, isAbstract: true)
            }
        let (signals, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let shared = SharedState(continuation)
        let loop = MultiThreadedEventLoopGroup.singleton.any()
        let opened = loop.makePromise(of: Void.self)
        let channel: any Channel
        do {
            channel = try await ClientBootstrap(group: loop)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(
                            DBusHandler(opened: opened, received: shared.received, closed: shared.closed)
                        )
                    }
                }
                .withConnectedSocket(descriptor).get()
        } catch {
            opened.fail(error)
            throw .notConnected
        }
        let connection = DBusConnection(channel, shared, signals)
        let timer = loop.scheduleTask(deadline: deadline) { opened.fail(DBusError.timedOut) }
        do { try await opened.futureResult.get() } catch {
            connection.close()
            throw error as? DBusError ?? .notConnected
        }
        timer.cancel()
        _ = try await connection.call(.toBus("Hello"), until: deadline)
        return connection
    }

    /// Sends a call and waits for the answer.
    ///
    /// - Throws: ``DBusError/refused(_:)`` when the answer is an error.
    func call(_ message: DBusMessage, until deadline: NIODeadline) async throws(DBusError) -> DBusMessage {
        let promise = channel.eventLoop.makePromise(of: DBusMessage.self)
        let serial: UInt32? = state.state.withLock { state in
            guard !state.isClosed else { return nil }
            // Skips 0, which is no valid serial. Serials repeat after 2³² calls. By then, the earlier call with the
            // same serial has ended.
            state.lastSerial = state.lastSerial == .max ? 1 : state.lastSerial + 1
            state.waiting[state.lastSerial] = promise
            return state.lastSerial
        }
        guard let serial else {
            promise.fail(DBusError.notConnected)
            throw .notConnected
        }
        var message = message
        message.serial = serial
        let timer = channel.eventLoop.scheduleTask(deadline: deadline) { [state] in state.giveUp(serial) }
        defer { timer.cancel() }
        do throws(DBusError) {
            channel.writeAndFlush(ByteBuffer(bytes: try message.encoded()), promise: nil)
        } catch {
            state.giveUp(serial)
            throw error
        }
        do { return try await promise.futureResult.get() } catch { throw error as? DBusError ?? .notConnected }
    }

    func close() { channel.close(promise: nil) }
}

/// Connects stream sockets to Unix domain addresses.
enum LocalSocket {
    /// Connects to a path or to an abstract name. Returns a non-blocking descriptor.
    static func connect(to name: String, isAbstract: Bool) throws(DBusError) -> Int32 {
        while true {
            let descriptor = haul_connect_local(name, UInt64(name.utf8.count), isAbstract ? 1 : 0)
            if descriptor >= 0 { return descriptor }
            guard errno == EINTR else { throw .notConnected }
        }
    }
}
