/// Brings connections to the places where readers of the unfinished file wait.
extension Transfer {
    /// Positions at which readers wait, and the connections that were given up for them.
    struct Readers: Sendable, Equatable {
        /// Positions of bytes that are not written yet, newest reader first.
        private(set) var positions: [Int64] = []
        /// Estimated number of bytes that were in flight on the connections that were given up.
        private var lostBytes: Int64 = 0
        /// When a connection was last given up; `nil` before.
        private var lastMove: Instant?
        /// Whether the answer to the first request of the last attempt was a range or offered ranges. A server without
        /// ranges answers a request for the middle with the whole file, and the bytes on disk could be lost.
        private var hasOfferedRanges = false

        mutating func noteFirstAnswer(_ head: ResponseHead) {
            hasOfferedRanges = head.status == 206 || head.headers.first(name: "Accept-Ranges")?.lowercased() == "bytes"
        }

        /// Whether the first request of an attempt may begin anywhere in the file. Without a strong tag, the request
        /// must begin with bytes that are compared.
        func letRequestsBeginAnywhere(in resource: Resource) -> Bool {
            resource.validator.strongTag != nil && hasOfferedRanges
        }

        mutating func wait(at positions: [Int64]) { self.positions = positions }

        /// Removes the readers whose byte is written.
        mutating func removeServed(_ written: ByteSet) {
            if !positions.isEmpty { positions.removeAll { written.end(from: $0) > $0 } }
        }

        /// Notes that a connection is given up for a reader.
        ///
        /// - Returns: `false` if all connections that were given up would together lose over 1 % of the file, or if the
        ///   last one was given up less than a second ago. Nothing changes then.
        mutating func move(losing bytes: Int64, of total: Int64, at now: Instant) -> Bool {
            guard lostBytes + bytes <= total / 100, lastMove.map({ now - $0 >= .seconds(1) }) ?? true else {
                return false
            }
            lostBytes += bytes
            lastMove = now
            return true
        }
    }

    /// Positions that a free connection takes before the gaps: those of the readers, then the end of a media file,
    /// which often holds its index. The end is included only while a reader waits, or if the limits request it.
    var wantedPositions: [Int64] {
        guard let total = terms.resource.total, terms.isMedia, total >= Self.leastMediaBytes,
            !readers.positions.isEmpty || terms.limits.fetchesMediaEndEarly == true
        else { return readers.positions }
        return readers.positions + [total - Self.mediaEndBytes]
    }

    private static let mediaEndBytes: Int64 = 1 << 20
    /// Shorter files are complete soon, and a request of its own for their end would cost more than it saves.
    private static let leastMediaBytes: Int64 = 16 << 20

    /// Opens connections for readers who wait for bytes that no connection brings soon. If no further connection can be
    /// had, gives up the slowest one for the newest reader.
    ///
    /// A reader whose bytes cannot be requested out of order waits until they arrive: the server has no ranges, or
    /// nothing shows that two requests get the same version.
    mutating func serveReaders(_ sources: inout SourceSelector, at now: Instant) -> [Action] {
        guard let newest = readers.positions.first, canShare, !overlap.isPending, !stumbles.areQuiet(at: now),
            !slots.hasGivenUp
        else { return [] }
        var actions: [Action] = []
        var isCrowded = false
        slots.setWanted(false)
        while isAnyReader(of: readers.positions, stuckAt: now) {
            isCrowded = active.count >= mostConnections
            guard !isCrowded else { break }
            guard let opened = openOne(&sources, onlyForReaders: true, at: now) else {
                isCrowded = slots.isWanted
                break
            }
            actions += opened
        }
        guard isCrowded, isAnyReader(of: [newest], stuckAt: now), let id = giveUp(at: now) else { return actions }
        actions += drop(id)
        if !active.isEmpty, let opened = openOne(&sources, onlyForReaders: true, at: now) { actions += opened }
        return actions
    }

    /// Largest number of connections that the settings and the host allow.
    private var mostConnections: Int { min(terms.limits.connections, controller.learnedLimit ?? .max) }

    private func isAnyReader(of positions: [Int64], stuckAt now: Instant) -> Bool {
        guard let plan else { return false }
        let speeds = active.compactMapValues { $0.measuredSpeed(at: now) }
        return positions.contains { plan.lacksConnection(at: $0, speeds: speeds) }
    }

    /// Returns the slowest connection that brings bytes and serves no reader but the newest; `nil` if there is none, or
    /// if ``Readers/move(losing:of:at:)`` refuses. The last connection is given up only if the next first request can
    /// begin anywhere in the file.
    private mutating func giveUp(at now: Instant) -> ConnectionID? {
        let mayBeginAnywhere = readers.letRequestsBeginAnywhere(in: terms.resource) && !home.isForeign
        guard let plan, active.count > 1 || mayBeginAnywhere else { return nil }
        let serving = Set(
            readers.positions.dropFirst().compactMap { position in
                if case .owed(let id, _, _) = plan.demand(at: position) { id } else { nil }
            }
        )
        let speeds = active.compactMapValues { $0.measuredSpeed(at: now) }
        let slowest =
            openIDs
            .filter { plan.segments[$0] != nil && !serving.contains($0) }
            .compactMap { id in speeds[id].map { (id: id, speed: $0) } }
            .min { ($0.speed, $0.id.number) < ($1.speed, $1.id.number) }
        guard let slowest else { return nil }
        let onTheWay = max(64 << 10, Int64(slowest.speed * answers.estimate.seconds * 2))
        return readers.move(losing: onTheWay, of: plan.total, at: now) ? slowest.id : nil
    }
}
