internal import DequeModule
internal import NIOCore

/// The newest notices of a feed, encoded once for all listeners.
struct FeedNotices {
    private static let most = 20
    private var frames: Deque<ByteBuffer> = []
    /// Number of notices so far.
    private(set) var count: UInt64 = 0

    mutating func add(_ frame: ByteBuffer) {
        frames.append(frame)
        if frames.count > Self.most { frames.removeFirst() }
        count += 1
    }

    /// Returns the notices after the first `number`; at most the newest 20.
    func frames(after number: UInt64) -> [ByteBuffer] {
        guard number < count else { return [] }
        return Array(frames.suffix(Int(min(count - number, UInt64(Self.most)))))
    }
}
