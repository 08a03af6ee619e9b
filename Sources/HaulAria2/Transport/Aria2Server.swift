package import HaulServer
package import Logging
internal import NIOCore
internal import NIOPosix
internal import ServiceLifecycle

/// Serves aria2's RPC over HTTP and WebSocket at an address of its own.
///
/// The server runs the session, which follows the downloader's events. It does not shut the downloader down: do so
/// after ``run()`` has returned.
package final class Aria2Server: Service {
    private let session: Aria2Session
    let shared: Aria2SharedParts
    private let logger: Logger
    private let onListening: @Sendable (ServerConfiguration.Listener) -> Void

    /// Creates a server. Does not listen yet.
    ///
    /// - Parameter onListening: called when the server accepts connections, with the address and the port that the
    ///   system chose.
    package convenience init(
        _ session: Aria2Session,
        _ configuration: Aria2ServerConfiguration,
        logger: Logger,
        onListening: @escaping @Sendable (ServerConfiguration.Listener) -> Void = { _ in }
    ) {
        self.init(session, configuration, logger: logger, delays: Aria2Delays(), onListening: onListening)
    }

    /// Also takes the delay of answers to wrong tokens, for tests.
    init(
        _ session: Aria2Session,
        _ configuration: Aria2ServerConfiguration,
        logger: Logger,
        delays: Aria2Delays,
        onListening: @escaping @Sendable (ServerConfiguration.Listener) -> Void
    ) {
        self.session = session
        shared = Aria2SharedParts(
            Aria2Endpoint(session, secret: configuration.secret.flatMap { Aria2Secret($0) }),
            session.notifications,
            configuration,
            delays: delays
        )
        (self.logger, self.onListening) = (logger, onListening)
    }

    /// Serves until the service group shuts down gracefully or the task is cancelled.
    ///
    /// - Throws: ``ServerError`` when the server cannot listen at the address.
    package func run() async throws {
        let address = shared.configuration.listener
        let channel: any Channel
        do {
            channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .serverChannelOption(.backlog, value: 256)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .childChannelInitializer { [shared] channel in
                    channel.eventLoop.makeCompletedFuture { try shared.install(on: channel) }
                }
                .bind(host: address.host, port: address.port).get()
        } catch {
            let name = "aria2's RPC"
            let option = "--aria2-rpc (haul aria2c: --rpc-listen-port)"
            if let failure = ServerError(name, cannotListenAt: address.description, error, option: option) {
                throw failure
            }
            throw ServerError("\(name) cannot listen at \(address): \(error)")
        }
        let bound = ServerConfiguration.Listener(
            host: address.host,
            port: channel.localAddress?.port ?? address.port
        )
        logger.notice("aria2's RPC listens at http://\(bound)/jsonrpc")
        onListening(bound)
        await withTaskGroup { tasks in
            tasks.addTask { [session] in await session.run() }
            tasks.addTask {
                // Waits for a graceful shutdown or for cancellation. Either ends the server in the same way.
                do { try await gracefulShutdown() } catch { return }
            }
            await tasks.next()
            tasks.cancelAll()
        }
        channel.close(promise: nil)
        shared.connections.closeAll()
    }
}
