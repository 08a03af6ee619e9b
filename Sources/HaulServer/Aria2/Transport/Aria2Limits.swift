internal import NIOCore
internal import Synchronization

/// The connections that are open. Their number is limited; all of them are closed when the server ends.
///
/// Beyond the limit a new connection takes the place of the oldest one that does nothing for its client: one without a whole request, or
/// without the token where one is needed.
final class Aria2Connections: Sendable {
    private struct State {
        var channels: [ObjectIdentifier: any Channel] = [:]
        /// Those that give way, by number, the oldest with the lowest.
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

        /// - Returns: the oldest that gives way, which is none of these any longer.
        mutating func removeOldest() -> (any Channel)? {
            guard let number = yielding.keys.min(), let key = yielding[number] else { return nil }
            return remove(key)
        }
    }
    private let state = Mutex(State())
    private let most: Int

    init(most: Int) { self.most = most }

    /// Takes in a connection, which gives way until it is said to stay.
    ///
    /// - Returns: false when there are as many as may be, and none gives way.
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

    /// It keeps its place from now on.
    func stays(_ channel: any Channel) { state.withLock { $0.stays(ObjectIdentifier(channel)) } }

    /// It may be closed for a new one from now on, as the last of those that may.
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

/// The bytes of requests that are being received. What all of them may take together is limited.
final class Aria2Bodies: Sendable {
    private let taken = Mutex(0)
    private let most: Int

    init(most: Int) { self.most = most }

    /// - Returns: false where there is no room.
    func take(_ count: Int) -> Bool {
        taken.withLock { taken in
            guard taken + count <= most else { return false }
            taken += count
            return true
        }
    }

    func give(_ count: Int) { taken.withLock { $0 -= count } }
}

/// Answers to wrong tokens wait, so that a secret cannot be guessed fast. Only so many wait at once: what is beyond them gets no
/// answer, which says nothing of the token.
final class Aria2Delays: Sendable {
    private let waiting = Mutex(0)
    private let most = 64
    private let time: Duration

    init(time: Duration = .seconds(1)) { self.time = time }

    /// - Returns: false where too many wait already.
    func wait() async -> Bool {
        let isTaken = waiting.withLock { waiting in
            guard waiting < most else { return false }
            waiting += 1
            return true
        }
        guard isTaken else { return false }
        defer { waiting.withLock { $0 -= 1 } }
        // The wait ends early only where the server does.
        do { try await Task.sleep(for: time) } catch { return false }
        return true
    }
}
