extension SegmentPlan {
    /// The bytes that one connection still owes, from `position` to `end`.
    package struct Segment: Sendable, Equatable {
        /// Offset of the first byte that was given to the connection.
        package let start: Int64
        /// Offset of the next byte that the connection will bring.
        package var position: Int64
        /// Offset behind the last byte. It decreases when another connection takes a part, and increases when the
        /// connection gets the unassigned bytes behind the segment.
        package var end: Int64
        /// Whether the segment repeats bytes that another connection owes already.
        var isHedge: Bool

        package init(start: Int64, position: Int64, end: Int64, isHedge: Bool) {
            self.start = start
            self.position = position
            self.end = end
            self.isHedge = isHedge
        }

        package var remaining: Int64 { end - position }
        package var remainingRange: Range<Int64> { position..<end }
    }

    /// A range that is given to a free connection.
    package struct Claim: Sendable, Equatable {
        /// The bytes to request.
        package let range: Range<Int64>
        /// The connection that gave up the range, with the new end of its segment; `nil` for an unassigned range and
        /// for a hedge.
        let narrowed: Narrowing?
        /// Whether another connection fetches these bytes too. The bytes that arrive first are used.
        let isHedge: Bool

        package init(range: Range<Int64>, narrowed: Narrowing?, isHedge: Bool) {
            self.range = range
            self.narrowed = narrowed
            self.isHedge = isHedge
        }
    }

    /// A connection whose segment was shortened, and the new end of the segment.
    package struct Narrowing: Sendable, Equatable {
        package let id: ConnectionID
        package let newEnd: Int64
    }
}
