extension SegmentPlan {
    /// What one connection still owes: the bytes from `position` to `end`.
    struct Segment: Sendable, Equatable {
        /// The first byte that was asked for.
        let start: Int64
        /// The next byte that the connection will bring.
        var position: Int64
        /// One past the last byte; moves towards `position` when another connection takes a part.
        var end: Int64
        /// Whether another connection is fetching the same bytes already.
        var isHedge: Bool

        var remaining: Int64 { end - position }
        var remainingRange: Range<Int64> { position..<end }
    }

    /// What a free connection has been given.
    struct Claim: Sendable, Equatable {
        /// What it is to ask for.
        let range: Range<Int64>
        /// Whose segment was cut short for it.
        let narrowed: Narrowing?
        /// Whether another connection is fetching these bytes, too: the first to have them wins.
        let isHedge: Bool
    }

    /// A connection is to stop earlier than it was told.
    struct Narrowing: Sendable, Equatable {
        let id: ConnectionID
        let newEnd: Int64
    }
}
