internal import NIOCore
internal import Synchronization

/// Connections that have not sent the head of a request yet. Only so many may be open: whoever opens hundreds and sends nothing
/// would keep all others out, and a client that has something to ask does so at once. The oldest one gives way.
final class UnheardConnections: Sendable {
    private struct State {
        var connections: [Int: any Channel] = [:]
        /// Ascending; some have been heard or are closed.
        var order: [Int] = []
        var last = 0
    }
    private let state = Mutex(State())
    private let most: Int

    init(most: Int) { self.most = most }

    /// - Returns: the number of the connection.
    func opened(_ channel: any Channel) -> Int {
        let (number, surplus) = state.withLock { state -> (Int, (any Channel)?) in
            state.last += 1
            state.connections[state.last] = channel
            state.order.append(state.last)
            var surplus: (any Channel)?
            if state.connections.count > most, let oldest = state.order.first(where: { state.connections[$0] != nil }) {
                surplus = state.connections.removeValue(forKey: oldest)
            }
            if state.order.count > 2 * most { state.order.removeAll { state.connections[$0] == nil } }
            return (state.last, surplus)
        }
        surplus?.close(promise: nil)
        return number
    }

    /// It has sent a head, or is closed.
    func remove(_ number: Int) { state.withLock { _ = $0.connections.removeValue(forKey: number) } }

    var count: Int { state.withLock { $0.connections.count } }
}
