internal import Synchronization

/// A speed limit that many connections share. It can have a wider limit as its `parent`: the limit of a download is
/// under that of its downloader.
///
/// A connection holds the bytes that have arrived, stops reading, and asks how many of them may go on. Connections take
/// short turns in the order in which they ask. All of them therefore progress, however low the rate is and however much
/// one read of the socket brings.
final class RateLimiter: Sendable {
    /// Bytes that a connection has reserved in the queue of each limit, and holds until the limits let them pass.
    struct Turn: Sendable {
        fileprivate var bytes: Int
        /// Place of the turn in the queue of each limit, from the narrowest to the widest; `nil` for a limit that was
        /// not in force.
        fileprivate let places: [Int64?]
    }

    /// Answer to a connection that holds bytes.
    struct Admission: Sendable, Equatable {
        /// Number of held bytes, from the front, that go on now.
        var bytes: Int
        /// Time until the next call of `admit(_:_:)`; `nil` if no bytes are left. At most ``longestWait``, so that all
        /// waiting connections follow a change of the rate within that time.
        var wait: Duration?
    }

    static let longestWait = Duration.milliseconds(250)
    /// Shortest wait that is worth a timer. Instead of a shorter wait, the bytes go on at once, and the next bytes wait
    /// longer.
    static let shortestWait = Duration.milliseconds(5)
    /// Fewest bytes of a turn. Otherwise a turn takes the bytes that the rate allows in 20 ms.
    private static let shortestTurn: Int64 = 128
    private static let turnsPerSecond: Int64 = 50

    private let parent: RateLimiter?
    private let now: @Sendable () -> Instant
    private let bucket: Mutex<TokenBucket>
    /// Rate of the bucket; 0 for no limit. It is atomic so that unlimited downloads pass without a lock.
    private let rate: Atomic<Int64>

    /// - Parameters:
    ///   - bytesPerSecond: the limit; `nil`, 0 or a negative number for no limit.
    ///   - parent: the wider limit. It also counts the bytes that this limit admits.
    init(_ bytesPerSecond: Int64? = nil, under parent: RateLimiter? = nil, now: @escaping @Sendable () -> Instant) {
        self.parent = parent
        self.now = now
        let bucket = TokenBucket(bytesPerSecond: bytesPerSecond, at: now())
        rate = Atomic(bucket.bytesPerSecond ?? 0)
        self.bucket = Mutex(bucket)
    }

    /// The limit without the parent's; `nil` for no limit. Setting 0 or a negative number sets `nil`. A change applies
    /// to held bytes too.
    var bytesPerSecond: Int64? {
        get {
            let rate = rate.load(ordering: .relaxed)
            return rate > 0 ? rate : nil
        }
        set {
            bucket.withLock { bucket in
                bucket.setRate(newValue, at: now())
                rate.store(bucket.bytesPerSecond ?? 0, ordering: .relaxed)
            }
        }
    }

    /// Returns how many of `held` bytes may go on now.
    ///
    /// - Parameter turn: the current turn of the connection, `nil` at first. When the wait is over, the caller passes
    ///   it again with the bytes that are still held. A caller that drops the bytes drops the turn too.
    func admit(_ held: Int, _ turn: inout Turn?) -> Admission {
        let held = max(held, 0)
        var admitted = 0
        while admitted < held, let length = turnLength {
            var current = turn ?? take(min(held - admitted, length))
            shorten(&current, to: length)
            let (unpaid, wait) = dues(of: current)
            admitted = min(held, admitted + max(0, current.bytes - unpaid))
            current.bytes = min(current.bytes, unpaid)
            turn = current
            if let wait { return Admission(bytes: admitted, wait: wait) }
            turn = nil
        }
        turn = nil
        return Admission(bytes: held)
    }

    /// Counts bytes that go on without waiting. Later bytes wait longer for that.
    func charge(_ bytes: Int) {
        for limit in chain where limit.isInForce {
            _ = limit.bucket.withLock { $0.take(Int64(bytes), at: limit.now()) }
        }
    }

    /// Most bytes of a turn; `nil` if no limit is in force.
    private var turnLength: Int? {
        chain.compactMap(\.bytesPerSecond).min().map { Int(clamping: max($0 / Self.turnsPerSecond, Self.shortestTurn)) }
    }

    private func take(_ bytes: Int) -> Turn {
        let places: [Int64?] = chain.map { limit in
            guard limit.isInForce else { return nil }
            return limit.bucket.withLock { bucket in
                _ = bucket.take(Int64(bytes), at: limit.now())
                return bucket.taken
            }
        }
        return Turn(bytes: bytes, places: places)
    }

    /// Shortens a turn to `length` after a rate was lowered, and refunds the rest. Otherwise the other connections
    /// would wait for the whole turn at the lower rate.
    private func shorten(_ turn: inout Turn, to length: Int) {
        guard turn.bytes > length else { return }
        for (limit, place) in zip(chain, turn.places) where place != nil {
            limit.bucket.withLock { $0.refund(Int64(turn.bytes - length), at: limit.now()) }
        }
        turn.bytes = length
    }

    /// Returns how many bytes of a turn the limits do not admit yet, and the wait for them: the maximum over all
    /// limits. Returns no bytes and no wait if the wait is shorter than `shortestWait`.
    private func dues(of turn: Turn) -> (bytes: Int, wait: Duration?) {
        var (owed, longest) = (0 as Int64, Duration.zero)
        for (limit, place) in zip(chain, turn.places) {
            guard let place, limit.isInForce else { continue }
            limit.bucket.withLock { bucket in
                let now = limit.now()
                owed = max(owed, bucket.owed(upTo: place, at: now))
                longest = max(longest, bucket.wait(upTo: place, at: now))
            }
        }
        if longest < Self.shortestWait { return (0, nil) }
        return (Int(clamping: owed), min(longest, Self.longestWait))
    }

    /// Whether this limit or a wider one is set.
    var isEffective: Bool { chain.contains { $0.isInForce } }

    private var isInForce: Bool { rate.load(ordering: .relaxed) > 0 }

    /// This limit and the wider ones.
    private var chain: some Sequence<RateLimiter> { sequence(first: self) { $0.parent } }
}
