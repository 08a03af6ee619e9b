package import NIOCore
internal import Synchronization

/// Limits the number of connections without a sign-in, so that a client that opens hundreds of them does not block the
/// port. Beyond the limit, closes the connection that has been silent longest.
package final class UnheardConnections: Sendable {
    private struct State {
        /// The connections by number. The connection that has been silent longest has the lowest number.
        var connections: [Int: any Channel] = [:]
        var last = 0
    }
    private let state = Mutex(State())
    private let most: Int

    package init(most: Int) { self.most = most }

    /// - Returns: a number for ``renewed(_:)`` and ``remove(_:)``.
    package func opened(_ channel: any Channel) -> Int {
        let (number, surplus) = state.withLock { state -> (Int, (any Channel)?) in
            state.last += 1
            state.connections[state.last] = channel
            guard state.connections.count > most, let oldest = state.connections.keys.min() else {
                return (state.last, nil)
            }
            return (state.last, state.connections.removeValue(forKey: oldest))
        }
        surplus?.close(promise: nil)
        return number
    }

    /// Makes a connection that has sent a head the newest one, under a new number.
    ///
    /// - Returns: `nil` for a connection that is being closed.
    package func renewed(_ number: Int) -> Int? {
        state.withLock { state in
            guard let channel = state.connections.removeValue(forKey: number) else { return nil }
            state.last += 1
            state.connections[state.last] = channel
            return state.last
        }
    }

    /// Removes a connection on which somebody has signed in, or that is closed.
    package func remove(_ number: Int) { state.withLock { _ = $0.connections.removeValue(forKey: number) } }

    package var count: Int { state.withLock { $0.connections.count } }
}
