internal import NIOCore
internal import Synchronization

/// The open connections. Limits their number, and closes all of them when the server ends.
///
/// At the limit, a new connection replaces the oldest yielding one. A connection yields while it has sent no complete
/// request, or no token if one is needed.
final class Aria2Connections: Sendable {
    private struct State {
        var channels: [ObjectIdentifier: any Channel] = [:]
        /// The yielding connections by number; the oldest has the lowest.
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

/// Counts the bytes of requests and messages that are being received or wait for an answer. Limits their total.
final class Aria2Bodies: Sendable {
    private let taken = Mutex(0)
    private let most: Int

    init(most: Int) { self.most = most }

    /// - Returns: false if the limit would be exceeded.
    func take(_ count: Int) -> Bool {
        taken.withLock { taken in
            guard taken + count <= most else { return false }
            taken += count
            return true
        }
    }

    func give(_ count: Int) { taken.withLock { $0 -= count } }

    var count: Int { taken.withLock { $0 } }
}

/// The share of one holder in ``Aria2Bodies``. Released with its last reference, however the connection ends.
final class Aria2Share: Sendable {
    private let bodies: Aria2Bodies
    private let taken = Mutex(0)

    init(of bodies: Aria2Bodies) { self.bodies = bodies }

    deinit { giveAll() }

    /// - Returns: false if the limit would be exceeded.
    func take(_ count: Int) -> Bool {
        guard bodies.take(count) else { return false }
        taken.withLock { $0 += count }
        return true
    }

    /// Gives back `count` bytes, at most the whole share.
    func give(_ count: Int) {
        let given = taken.withLock { taken in
            let given = min(taken, count)
            taken -= given
            return given
        }
        bodies.give(given)
    }

    func giveAll() { give(.max) }

    var count: Int { taken.withLock { $0 } }
}

/// The body of a request or a message of a WebSocket, with its share of the limit.
final class Aria2Body: Sendable {
    /// Estimated memory of a short message besides its bytes.
    private static let overhead = 256

    private let bytes = Mutex(ByteBuffer())
    private let share: Aria2Share

    /// - Returns: `nil` if the limit would be exceeded.
    init?(_ bodies: Aria2Bodies) {
        share = Aria2Share(of: bodies)
        guard share.take(Self.overhead) else { return nil }
    }

    /// Copies bytes, because the original buffer would keep all bytes of the same read in memory.
    ///
    /// - Returns: false if the limit would be exceeded.
    func append(_ part: ByteBuffer) -> Bool {
        guard share.take(part.readableBytes) else { return false }
        bytes.withLock { _ = $0.writeImmutableBuffer(part) }
        return true
    }

    var count: Int { bytes.withLock { $0.readableBytes } }

    var isUTF8: Bool { bytes.withLock { String(validating: $0.readableBytesView, as: UTF8.self) != nil } }

    /// Removes and returns the bytes. They still count until ``end()``.
    func take() -> ByteBuffer {
        bytes.withLock { bytes in
            defer { bytes = ByteBuffer() }
            return bytes
        }
    }

    /// Gives the share back, when nothing uses the bytes any more.
    func end() { share.giveAll() }
}

/// Delays answers to wrong tokens, so that a secret cannot be guessed fast. Limits the number of delayed answers.
/// Further wrong calls get no answer, which reveals nothing about the token.
final class Aria2Delays: Sendable {
    private let waiting = Mutex(0)
    private let most = 64
    private let time: Duration

    init(time: Duration = .seconds(1)) { self.time = time }

    /// Waits.
    ///
    /// - Returns: false if too many answers are delayed already, or if the server ends.
    func wait() async -> Bool {
        let isTaken = waiting.withLock { waiting in
            guard waiting < most else { return false }
            waiting += 1
            return true
        }
        guard isTaken else { return false }
        defer { waiting.withLock { $0 -= 1 } }
        // The sleep ends early only when the server ends.
        do { try await Task.sleep(for: time) } catch { return false }
        return true
    }
}
