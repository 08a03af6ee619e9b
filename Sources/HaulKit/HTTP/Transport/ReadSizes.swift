internal import NIOCore

/// How much is read from a connection at once: what its last reads brought, and several times as much once it has shown
/// that it is fast. Each read costs a walk through the layers above, and each connection keeps a buffer of this size.
///
/// Connections that are held back, by the speed limit or by a slow disk, have full reads too. They stay with small ones: what
/// is read and not yet written is lost with the process.
struct ReadSizes: RecvByteBufferAllocator {
    private var usual = AdaptiveRecvByteBufferAllocator(minimum: 1024, initial: 16 << 10, maximum: usualMost)
    private var large = AdaptiveRecvByteBufferAllocator(minimum: usualMost, initial: usualMost, maximum: most)
    private var isFast = false
    private var pace: Pace
    private let now: @Sendable () -> NIODeadline

    private static let usualMost = 64 << 10
    private static let most = 512 << 10

    /// The time that a stretch of bytes took.
    private struct Pace {
        var begin: NIODeadline
        var bytes = 0
        static let stretch = 2 << 20
        /// 64 MiB/s: below it the walk through the layers costs a twentieth of a core at most.
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

    /// Sets up a connection.
    static func set(on channel: any Channel) -> EventLoopFuture<Void> {
        // One read at a time: several would be passed on together, and need the memory of several.
        channel.setOption(.maxMessagesPerRead, value: 1).flatMap {
            channel.setOption(.recvAllocator, value: ReadSizes())
        }
    }
}
