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

/// The bytes of requests and of messages that are being received, or wait to be answered. What all of them may take together is
/// limited.
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

    var count: Int { taken.withLock { $0 } }
}

/// What one holder has of ``Aria2Bodies``. It is given back with its last reference, however the connection ends.
final class Aria2Share: Sendable {
    private let bodies: Aria2Bodies
    private let taken = Mutex(0)

    init(of bodies: Aria2Bodies) { self.bodies = bodies }

    deinit { giveAll() }

    /// - Returns: false where there is no room.
    func take(_ count: Int) -> Bool {
        guard bodies.take(count) else { return false }
        taken.withLock { $0 += count }
        return true
    }

    /// Gives back so much, or all there is.
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

/// The body of a request, or a message of a socket, and its share of the limit.
final class Aria2Body: Sendable {
    /// What a short message takes besides its bytes.
    private static let overhead = 256

    private let bytes = Mutex(ByteBuffer())
    private let share: Aria2Share

    /// - Returns: nil where there is no room.
    init?(_ bodies: Aria2Bodies) {
        share = Aria2Share(of: bodies)
        guard share.take(Self.overhead) else { return nil }
    }

    /// Copies bytes: in place they would keep all that was read with them.
    ///
    /// - Returns: false where there is no room.
    func append(_ part: ByteBuffer) -> Bool {
        guard share.take(part.readableBytes) else { return false }
        bytes.withLock { _ = $0.writeImmutableBuffer(part) }
        return true
    }

    var count: Int { bytes.withLock { $0.readableBytes } }

    var isUTF8: Bool { bytes.withLock { String(validating: $0.readableBytesView, as: UTF8.self) != nil } }

    /// Takes the bytes out. They count until ``end()``.
    func take() -> ByteBuffer {
        bytes.withLock { bytes in
            defer { bytes = ByteBuffer() }
            return bytes
        }
    }

    /// Nothing has the bytes any more.
    func end() { share.giveAll() }
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
