internal import AsyncHTTPClient
internal import NIOPosix
internal import Synchronization

/// Keeps one HTTP client for each ``ConnectionPath``. AsyncHTTPClient takes the proxy and the address of a host only
/// when a client is made, so downloads from many hosts need many clients. The least recently used clients without
/// requests are closed, with their kept connections.
final class HTTPClients: Sendable {
    /// Largest number of clients without a request that are kept. A client for https takes about 1 MB, mostly for the
    /// system's certificates.
    private static let mostIdle = 16

    private struct Entry {
        let client: HTTPClient
        var requests = 0
        /// Connection attempts that were given up, or may be under way. AsyncHTTPClient does not end them before their
        /// time limit.
        var attempts = 0
        var lastUse = 0
    }
    private struct State {
        var clients: [ConnectionPath: Entry] = [:]
        var uses = 0
        var isShutDown = false

        /// If more than `most` clients are idle, removes and returns the one that was used longest ago.
        mutating func takeSurplus(over most: Int) -> HTTPClient? {
            guard clients.count > most else { return nil }
            let idle = clients.filter { $0.value.requests == 0 }
            guard idle.count > most, let oldest = idle.min(by: { $0.value.lastUse < $1.value.lastUse }) else {
                return nil
            }
            clients[oldest.key] = nil
            return oldest.value.client
        }
    }
    private let state = Mutex(State())
    private let configuration: @Sendable (ConnectionPath) -> HTTPClient.Configuration

    init(_ configuration: @escaping @Sendable (ConnectionPath) -> HTTPClient.Configuration) {
        self.configuration = configuration
    }

    deinit {
        // A client that is not shut down traps. The callback form keeps the client alive until it has shut down.
        for client in state.withLock({ $0.clients.values.map(\.client) }) { client.shutdown { _ in } }
    }

    /// Returns the client for a request. The caller ends its use with ``release(_:isSettled:)``.
    func take(_ path: ConnectionPath) -> HTTPClient {
        let (client, surplus) = state.withLock { state -> (HTTPClient, HTTPClient?) in
            state.uses += 1
            if let client = state.clients[path]?.client {
                state.clients[path]?.requests += 1
                state.clients[path]?.attempts += 1
                state.clients[path]?.lastUse = state.uses
                return (client, nil)
            }
            let client = HTTPClient(
                eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup.singleton),
                configuration: configuration(path)
            )
            // A redirect may arrive after the shut-down. Its request fails at once.
            if state.isShutDown { return (client, client) }
            state.clients[path] = Entry(client: client, requests: 1, attempts: 1, lastUse: state.uses)
            return (client, state.takeSurplus(over: Self.mostIdle))
        }
        surplus?.shutdown { _ in }
        return client
    }

    /// Ends the use of a client by a request.
    ///
    /// - Parameter isSettled: whether the request had a connection, or its attempt to connect has ended.
    func release(_ path: ConnectionPath, isSettled: Bool) {
        state.withLock { state in
            state.clients[path]?.requests -= 1
            if isSettled { state.clients[path]?.attempts -= 1 }
        }
    }

    /// Closes all connections. Returns when they are closed, except those that are still being made.
    func shutDown() async {
        let all = state.withLock { state in
            state.isShutDown = true
            defer { state.clients = [:] }
            return state.clients.values.map(\.self)
        }
        for entry in all {
            if entry.attempts > 0 {
                entry.client.shutdown { _ in }
            } else {
                await withCheckedContinuation { continuation in
                    entry.client.shutdown { _ in continuation.resume() }
                }
            }
        }
    }
}
