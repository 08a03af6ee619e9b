internal import NIOCore
internal import Synchronization

/// The open connections. Limits their number, and closes all of them when the server ends.
///
/// At the limit, a new connection replaces the oldest yielding one. An HTTP connection yields until its client has sent
/// the right token; if no token is needed, it yields while none of its requests is being answered. A WebSocket yields
/// only while a needed token is missing.
final class Aria2Connections: Sendable {
    private struct State {
        var channels: [ObjectIdentifier: any Channel] = [:]
        /// The yielding connections by number. The oldest connection has the lowest number.
        var yielding: [Int: ObjectIdentifier] = [:]
        var numbers: [ObjectIdentifier: Int] = [:]
        var last = 0
        var isClosed = false

        mutating func yields(_ key: ObjectIdentifier) {
            guard channels[key] != nil, numbers[key] == nil else { return }
            last += 1
            (yielding[last], numbers[key]) = (key, last)
        }

        mutating func stays(_ key: ObjectIdentifier) {
            if let number = numbers.removeValue(forKey: key) { yielding[number] = nil }
        }

        mutating func remove(_ key: ObjectIdentifier) -> (any Channel)? {
            stays(key)
            return channels.removeValue(forKey: key)
        }

        /// Removes the oldest yielding connection.
        ///
        /// - Returns: the removed connection; `nil` if none yields.
        mutating func removeOldest() -> (any Channel)? {
            guard let number = yielding.keys.min(), let key = yielding[number] else { return nil }
            return remove(key)
        }
    }
    private let state = Mutex(State())
    private let most: Int

    init(most: Int) { self.most = most }

    /// Adds a connection, which yields until ``stays(_:)``.
    ///
    /// - Returns: false if the limit is reached and no connection yields, or if the server has ended.
    func open(_ channel: any Channel) -> Bool {
        let key = ObjectIdentifier(channel)
        let (isTaken, surplus) = state.withLock { state -> (Bool, (any Channel)?) in
            guard !state.isClosed else { return (false, nil) }
            var surplus: (any Channel)?
            if state.channels.count >= most {
                surplus = state.removeOldest()
                if surplus == nil { return (false, nil) }
            }
            state.channels[key] = channel
            state.yields(key)
            return (true, surplus)
        }
        surplus?.close(promise: nil)
        guard isTaken else { return false }
        channel.closeFuture.whenComplete { _ in self.state.withLock { _ = $0.remove(key) } }
        return true
    }

    /// Lets a connection keep its place.
    func stays(_ channel: any Channel) { state.withLock { $0.stays(ObjectIdentifier(channel)) } }

    /// Lets a connection yield to a new one, after all others that yield already.
    func yields(_ channel: any Channel) { state.withLock { $0.yields(ObjectIdentifier(channel)) } }

    func closeAll() {
        let channels = state.withLock { state in
            state.isClosed = true
            return Array(state.channels.values)
        }
        for channel in channels { channel.close(promise: nil) }
    }

    var count: Int { state.withLock { $0.channels.count } }
}
