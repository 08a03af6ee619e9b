extension SegmentPlan {
    /// The bytes that one connection still owes, from `position` to `end`.
    struct Segment: Sendable, Equatable {
        /// Offset of the first byte that was given to the connection.
        let start: Int64
        /// Offset of the next byte that the connection will bring.
        var position: Int64
        /// Offset behind the last byte. It decreases when another connection takes a part.
        var end: Int64
        /// Whether the segment repeats bytes that another connection owes already.
        var isHedge: Bool

        var remaining: Int64 { end - position }
        var remainingRange: Range<Int64> { position..<end }
    }

    /// A range that is given to a free connection.
    struct Claim: Sendable, Equatable {
        /// The bytes to request.
        let range: Range<Int64>
        /// The segment that was cut short for the range; `nil` if none was.
        let narrowed: Narrowing?
        /// Whether another connection fetches these bytes too. The first connection to have them wins.
        let isHedge: Bool
    }

    /// A new, earlier end for a connection.
    struct Narrowing: Sendable, Equatable {
        let id: ConnectionID
        let newEnd: Int64
    }
}
