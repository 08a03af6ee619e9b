internal import NIOCore

/// Writes the frames of an event stream to its listener, and notices a listener that reads too slowly.
struct ListenerWriter: Sendable {
    /// Time limit for one write. A listener that does not read for this long is disconnected.
    private static let limit = Duration.seconds(10)
    private let writer: SendableWriter
    private let clock = WriteClock()

    init(_ writer: SendableWriter) { self.writer = writer }

    func write(_ frame: ByteBuffer) async throws {
        await clock.begin()
        try await writer.write(frame)
        await clock.end()
    }

    /// Checks every 2 seconds whether the present write takes longer than the limit.
    ///
    /// - Throws: `CancellationError` if a write takes longer than the limit, or if the task is cancelled.
    func throwWhenLate() async throws {
        repeat { try await Task.sleep(for: .seconds(2)) } while await !clock.isLate(Self.limit)
        throw CancellationError()
    }
}

/// Measures how long a write has been waiting for its listener.
private actor WriteClock {
    private var start: ContinuousClock.Instant?

    func begin() { start = .now }
    func end() { start = nil }
    func isLate(_ limit: Duration) -> Bool { start.map { .now - $0 > limit } ?? false }
}
