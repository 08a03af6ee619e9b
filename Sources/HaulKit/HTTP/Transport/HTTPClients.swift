internal import AsyncHTTPClient
internal import NIOPosix
internal import Synchronization

/// The client of each way out. The library takes the address of a host, as a proxy, at a client's birth only, so a list of many hosts
/// has many clients; those that have not been used for longest are closed, with their kept connections.
final class HTTPClients: Sendable {
    /// Clients without a request that are kept. One for https takes about 1 MB, most of it the system's certificates.
    private static let mostIdle = 16

    private struct Entry {
        let client: HTTPClient
        var requests = 0
        /// Attempts to connect that were given up, or may be under way. The library does not end them before their time is over.
        var attempts = 0
        var lastUse = 0
    }
    private struct State {
        var clients: [Way: Entry] = [:]
        var uses = 0
        var isShutDown = false

        /// Removes the client without a request that has not been used for longest, where there are too many of them.
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
    private let configuration: @Sendable (Way) -> HTTPClient.Configuration

    init(_ configuration: @escaping @Sendable (Way) -> HTTPClient.Configuration) { self.configuration = configuration }

    deinit {
        // A client that is not shut down traps; the callback form keeps it alive until it has ended.
        for client in state.withLock({ $0.clients.values.map(\.client) }) { client.shutdown { _ in } }
    }

    /// The client for a request, which ends with ``release(_:)``.
    func take(_ way: Way) -> HTTPClient {
        let (client, surplus) = state.withLock { state -> (HTTPClient, HTTPClient?) in
            state.uses += 1
            if let client = state.clients[way]?.client {
                state.clients[way]?.requests += 1
                state.clients[way]?.attempts += 1
                state.clients[way]?.lastUse = state.uses
                return (client, nil)
            }
            let client = HTTPClient(
                eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup.singleton),
                configuration: configuration(way)
            )
            // A redirect that is answered at this moment: its request fails at once.
            if state.isShutDown { return (client, client) }
            state.clients[way] = Entry(client: client, requests: 1, attempts: 1, lastUse: state.uses)
            return (client, state.takeSurplus(over: Self.mostIdle))
        }
        surplus?.shutdown { _ in }
        return client
    }

    /// A request has ended.
    ///
    /// - Parameter isSettled: it had a connection, or the attempt to make one has ended.
    func release(_ way: Way, isSettled: Bool) {
        state.withLock { state in
            state.clients[way]?.requests -= 1
            if isSettled { state.clients[way]?.attempts -= 1 }
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
