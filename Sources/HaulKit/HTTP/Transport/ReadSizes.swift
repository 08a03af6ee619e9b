internal import NIOCore

/// Decides how much is read from a connection at once: as much as its last reads returned, and several times as much
/// from a fast connection. Each read passes through all channel handlers, which takes time, and each connection keeps a
/// buffer of this size.
///
/// Reads also fill the buffer if the speed limit or a slow disk holds a connection back. Such a connection keeps a
/// small buffer, because bytes that are read but not written are lost with the process.
struct ReadSizes: RecvByteBufferAllocator {
    private var usual = AdaptiveRecvByteBufferAllocator(minimum: 1024, initial: 16 << 10, maximum: usualMost)
    private var large = AdaptiveRecvByteBufferAllocator(minimum: usualMost, initial: usualMost, maximum: most)
    private var isFast = false
    private var pace: Pace
    private let now: @Sendable () -> NIODeadline

    private static let usualMost = 64 << 10
    private static let most = 512 << 10

    /// Measures the time in which ``stretch`` bytes are read.
    private struct Pace {
        var begin: NIODeadline
        var bytes = 0
        static let stretch = 2 << 20
        /// Corresponds to 62.5 MiB/s. Below that speed the channel handlers take at most a twentieth of a core.
        static let mostOfFast = TimeAmount.milliseconds(32)
    }

    init(now: @escaping @Sendable () -> NIODeadline = { .now() }) {
        self.now = now
        pace = Pace(begin: now())
    }

    func buffer(allocator: ByteBufferAllocator) -> ByteBuffer {
        isFast ? large.buffer(allocator: allocator) : usual.buffer(allocator: allocator)
    }

    func nextBufferSize() -> Int? { isFast ? large.nextBufferSize() : usual.nextBufferSize() }

    mutating func record(actualReadBytes count: Int) -> Bool {
        let before = nextBufferSize()
        let mayGrow = isFast ? large.record(actualReadBytes: count) : usual.record(actualReadBytes: count)
        pace.bytes += count
        guard pace.bytes >= Pace.stretch else { return mayGrow }
        let time = now()
        isFast = time - pace.begin <= Pace.mostOfFast
        pace = Pace(begin: time)
        return nextBufferSize() != before
    }

    /// Makes a connection choose its read sizes with this type.
    static func set(on channel: any Channel) -> EventLoopFuture<Void> {
        // Makes one read at a time, because several reads would be passed on together and need several buffers.
        channel.setOption(.maxMessagesPerRead, value: 1).flatMap {
            channel.setOption(.recvAllocator, value: ReadSizes())
        }
    }
}
