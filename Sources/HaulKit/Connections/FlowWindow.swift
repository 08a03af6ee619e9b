/// Counts the bytes of a whole download over a stretch of time.
struct FlowWindow: Sendable, Equatable {
    private let startedAt: Instant
    private let landedAtStart: Int64
    private var endedAt: Instant
    private var landedAtEnd: Int64
    /// Time between two ticks in which next to nothing came.
    private var ticks: [Tick] = []

    private struct Tick: Sendable, Equatable {
        let seconds: Double
        let bytes: Int64
    }

    init(received: Int64, at now: Instant) {
        startedAt = now
        endedAt = now
        landedAtStart = received
        landedAtEnd = received
    }

    /// So much is enough to tell idling apart; a window that is open for an hour need not remember more.
    private static let ticksRemembered = 64

    /// - Returns: false when the count went backwards or nothing was heard for long: the window says nothing then.
    mutating func add(received: Int64, at now: Instant) -> Bool {
        let elapsed = now - endedAt
        guard received >= landedAtEnd, elapsed >= .zero, elapsed < .seconds(3) else { return false }
        if elapsed > .zero, ticks.count < Self.ticksRemembered {
            ticks.append(Tick(seconds: elapsed.seconds, bytes: received - landedAtEnd))
        }
        endedAt = now
        landedAtEnd = received
        return true
    }

    var duration: Duration { endedAt - startedAt }
    var bytes: Int64 { landedAtEnd - landedAtStart }
    var bytesPerSecond: Double { duration > .zero ? Double(bytes) / duration.seconds : 0 }

    /// Whether the link lay idle for part of the time although connections were open: then it is the server that sets
    /// their pace (nginx lets each have a number of bytes at once and then none for most of a second), and more of them
    /// would bring more, whatever the total says just now.
    var isIdling: Bool {
        guard bytes >= 512 << 10 else { return false }
        let few = bytesPerSecond / 10
        return ticks.contains { $0.seconds >= 0.1 && Double($0.bytes) < few * $0.seconds }
    }
}
