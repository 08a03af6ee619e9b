internal import NIOCore
internal import Synchronization

/// Counts the bytes of requests and messages that are being received or wait for an answer. Limits their total:
/// ``Aria2ServerConfiguration/maxReceivedBytes``.
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

/// The bytes that one connection or one body has taken from ``Aria2Bodies``. They are given back with the last
/// reference, however the connection ends.
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

    /// Gives the share back. The caller must not use the bytes afterwards.
    func end() { share.giveAll() }
}
