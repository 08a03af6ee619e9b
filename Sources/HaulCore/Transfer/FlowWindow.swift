/// Counts the bytes of a whole download, and the work of this machine, over a period of time.
struct FlowWindow: Sendable, Equatable {
    private let startedAt: Instant
    private let landedAtStart: Int64
    private var endedAt: Instant
    private var landedAtEnd: Int64
    private let workAtStart: Duration
    private var workAtEnd: Duration
    /// The first ticks of the window, each with the time and the bytes since the tick before.
    private var ticks: [Tick] = []

    private struct Tick: Sendable, Equatable {
        let seconds: Double
        let bytes: Int64
    }

    init(received: Int64, localWork: Duration, at now: Instant) {
        startedAt = now
        endedAt = now
        landedAtStart = received
        landedAtEnd = received
        workAtStart = localWork
        workAtEnd = localWork
    }

    /// Maximum length of `ticks`. More ticks are not needed to detect idling.
    private static let ticksRemembered = 64

    /// - Returns: `false` if the count went backwards or no tick came for three seconds. The window is then of no use.
    mutating func add(received: Int64, localWork: Duration, at now: Instant) -> Bool {
        let elapsed = now - endedAt
        guard received >= landedAtEnd, elapsed >= .zero, elapsed < .seconds(3) else { return false }
        if elapsed > .zero, ticks.count < Self.ticksRemembered {
            ticks.append(Tick(seconds: elapsed.seconds, bytes: received - landedAtEnd))
        }
        endedAt = now
        landedAtEnd = received
        workAtEnd = localWork
        return true
    }

    var duration: Duration { endedAt - startedAt }
    var bytes: Int64 { landedAtEnd - landedAtStart }
    var bytesPerSecond: Double { duration > .zero ? Double(bytes) / duration.seconds : 0 }

    /// Whether the write thread worked, or all processors were busy, for more than half of the time. More connections
    /// could hardly bring more bytes then.
    var isLimitedLocally: Bool { workAtEnd - workAtStart > duration / 2 }

    /// Whether the link was idle for part of the time although connections were open. The server then limits each
    /// connection: nginx sends a burst and then nothing for most of a second. More connections would bring more bytes.
    var isIdling: Bool {
        guard bytes >= 512 << 10 else { return false }
        let few = bytesPerSecond / 10
        return ticks.contains { $0.seconds >= 0.1 && Double($0.bytes) < few * $0.seconds }
    }
}
