internal import Synchronization

/// A limit on speed that many connections share, under an optional wider one: a download's under that of the process.
///
/// A connection holds what has arrived, reads nothing more, and asks how much of it may go on. Connections take turns
/// of few bytes in the order in which they ask, so that all of them move however small the rate is and however much a
/// read of the socket brings at once.
final class RateLimiter: Sendable {
    /// What a connection has taken and not paid for yet.
    struct Turn: Sendable {
        fileprivate var bytes: Int
        /// Its place in the line of each limit, from the narrowest to the widest; nil where there was none.
        fileprivate let places: [Int64?]
    }

    /// What may be done with bytes that are held.
    struct Admission: Sendable, Equatable {
        /// This many of them, from the front, go on now.
        var bytes: Int
        /// Time after which to ask for the rest; nil when there is none. Never more than ``longestWait``, so that a
        /// change of the rate is felt that soon by all who wait.
        var wait: Duration?
    }

    static let longestWait = Duration.milliseconds(250)
    /// A shorter wait is not worth a timer: the bytes go on, and what they owe delays the next ones.
    static let shortestWait = Duration.milliseconds(5)
    /// A turn takes what the rate allows in 20 ms, but not less than this.
    private static let shortestTurn: Int64 = 128
    private static let turnsPerSecond: Int64 = 50

    private let parent: RateLimiter?
    private let now: @Sendable () -> Instant
    private let bucket: Mutex<TokenBucket>
    /// The bucket's rate, 0 for none: downloads at full speed pass without a lock.
    private let rate: Atomic<Int64>

    /// - Parameters:
    ///   - bytesPerSecond: nil, 0 and less: no limit.
    ///   - parent: the wider limit; bytes taken here are taken there too.
    init(_ bytesPerSecond: Int64? = nil, under parent: RateLimiter? = nil, now: @escaping @Sendable () -> Instant) {
        self.parent = parent
        self.now = now
        let bucket = TokenBucket(bytesPerSecond: bytesPerSecond, at: now())
        rate = Atomic(bucket.bytesPerSecond ?? 0)
        self.bucket = Mutex(bucket)
    }

    /// The limit, without the parent's. May be changed at any time; what is held then continues at the new rate. 0 and
    /// less become nil: no limit.
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

    /// Says how many of `held` bytes may go on now.
    ///
    /// - Parameter turn: what the connection has under way, nil at first. To be kept and passed again, with the bytes
    ///   that are still held, when the wait is over. When the bytes are dropped, drop it too.
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

    /// Counts bytes that go on without waiting: the next ones wait for them.
    func charge(_ bytes: Int) {
        for limit in chain where limit.isInForce {
            _ = limit.bucket.withLock { $0.take(Int64(bytes), at: limit.now()) }
        }
    }

    /// Most bytes of a turn; nil when nothing limits.
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

    /// Gives back what is too much since a rate was lowered: the others would wait for it all that time.
    private func shorten(_ turn: inout Turn, to length: Int) {
        guard turn.bytes > length else { return }
        for (limit, place) in zip(chain, turn.places) where place != nil {
            limit.bucket.withLock { $0.refund(Int64(turn.bytes - length), at: limit.now()) }
        }
        turn.bytes = length
    }

    /// What a turn owes, and for how long: the most that any of the limits says. No wait when almost all is paid
    /// for.
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
