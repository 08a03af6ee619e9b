/// The part of a run in which bytes arrive: the connections, what each of them owes, and the reactions to their events.
/// It is a part of the machine, and like the machine a value without side effects.
///
/// Only the files of this type (`Transfer+…`) write its stored properties.
///
/// The first connection belongs to the machine's own request. It may begin a version or start over. Additional
/// connections bring only ranges of exactly that version. If they fail, the first connection continues.
package struct Transfer: Sendable, Equatable {
    package typealias ConnectionID = DownloadMachine.ConnectionID
    package typealias Action = DownloadMachine.Action

    /// State of the transfer after an event.
    package enum Outcome: Sendable, Equatable {
        case goesOn
        /// Every byte has arrived, and every piece is right.
        case complete
        /// No connection is left, and none could be opened.
        case noConnections
        /// An answer says that the URL leads to another version.
        case versionMismatch
        /// The primary source has been dropped, and another one has to be asked.
        case primaryRejected
        /// The last connection was given up for a reader. The next request begins where the reader waits.
        case givenUpForReader
        /// A piece has had a wrong digest too often, whatever its source.
        case wrongPiece(Int)
    }

    /// Facts of the machine that the transfer depends on.
    package struct Terms: Sendable, Equatable {
        package var resource: Resource
        /// Whether a digest will prove the whole file.
        var isProvable = false
        package var resumesUnverified = false
        package var pieces: PieceHashes?
        package var limits = Limits()
        /// Whether the file is a film or music.
        var isMedia = false
    }

    package struct Limits: Sendable, Equatable, Codable {
        /// Largest number of connections of a download.
        package var connections = 1
        /// Number of connections that are opened from the beginning, before their gain in speed is measured.
        package var start = 1
        package var smallestPiece: Int64 = 256 << 10
        /// Whether the end of a film or of music is fetched early; `nil` means `false`.
        package var fetchesMediaEndEarly: Bool?

        package init(connections: Int = 1, start: Int = 1, smallestPiece: Int64 = 256 << 10) {
            self.connections = connections
            self.start = start
            self.smallestPiece = smallestPiece
        }
    }

    package internal(set) var active: [ConnectionID: ActiveConnection] = [:]
    package internal(set) var plan: SegmentPlan?
    package internal(set) var pieces: PieceVerifier?
    var controller = ConnectionController(ceiling: 1)
    var terms = Terms(resource: Resource(total: nil))
    /// Whether no additional connection is opened, whatever the limits are, because answers showed that none is of use.
    var isSolitary = false
    /// Whether the host was seen to send two versions of a file under one weak validator.
    private var changesUnderOneName = false
    var overlap = OverlapCheck()
    var home = HomeTrust()
    /// Number of times that an additional connection said that the version had changed.
    var doubts = 0
    var stumbles = Stumbles()
    package internal(set) var slots = Slots()
    var answers = AnswerTimes()
    var readers = Readers()
    /// Whether a speed limit slows the download.
    package internal(set) var isHeldBack = false
    /// Time in which this machine was the limit: ``DownloadMachine/Surroundings/localWork``.
    package internal(set) var localWork: Duration = .zero
    /// Number of slow connections that were closed to be replaced.
    var replacements = 0
    /// Number in the ``ConnectionID`` that was issued last; 0 if none was issued.
    var issued = 0

    /// Whether a connection has been asked for, be it the first or an additional one.
    package var hasIssuedConnections: Bool { issued > 0 }

    mutating func issueID() -> ConnectionID {
        issued += 1
        return ConnectionID(number: issued)
    }

    // MARK: Beginning and ending

    /// The first connection, the range that it brings, and the number of repeated bytes to compare.
    package typealias First = (id: ConnectionID, lower: Int64, upper: Int64?, compare: Int64)

    /// Begins the transfer when the body of the first connection is about to flow. If `first` is `nil`, every byte is
    /// on disk and only pieces are left to be compared.
    package mutating func begin(
        _ first: First?,
        _ terms: Terms,
        _ persisted: PersistedRanges,
        _ sources: SourceSelector,
        host: KnownHost,
        at now: Instant
    ) {
        self.terms = terms
        changesUnderOneName = host.changesUnderOneName ?? false
        active = [:]
        if let first {
            active[first.id] = ActiveConnection(
                source: sources.home,
                sources.sources[sources.home].origin,
                question: nil,
                reach: first.upper ?? terms.resource.total ?? .max,
                at: now
            )
        }
        plan = nil
        overlap.waitFor(first.flatMap { $0.compare > 0 ? $0.id : nil })
        home.unbar()
        stumbles.endPause(at: now)
        slots.tick()
        let start = start(at: host, persisted)
        controller = ConnectionController(
            ceiling: canShare ? terms.limits.connections : 1,
            start: canShare ? max(terms.limits.start, start.connections) : 1,
            atOnce: max(terms.limits.start, start.atOnce),
            // A limit that was learned before an interruption holds after it.
            knownLimit: controller.learnedLimit ?? host.limit
        )
        guard let total = terms.resource.total else { return }
        var plan = SegmentPlan(
            total: total,
            receivedRanges: persisted.written,
            smallestPiece: terms.limits.smallestPiece,
            alignment: terms.pieces?.pieceLength ?? 1
        )
        if let first, first.lower < first.upper ?? total {
            _ = plan.assign(first.lower..<(first.upper ?? total), to: first.id)
        }
        self.plan = plan
        if pieces?.hashes != terms.pieces || pieces?.total != total {
            pieces = terms.pieces.map { PieceVerifier($0, total: total) }
        } else {
            pieces?.resume()
        }
    }

    private func start(at host: KnownHost, _ persisted: PersistedRanges) -> (connections: Int, atOnce: Int) {
        terms.resource.total.map { host.start(missing: $0 - persisted.count, besides: additionalConnections) } ?? (1, 1)
    }

    /// Number of additional connections of all downloads; `nil` if unknown, or if a speed limit makes early ones useless.
    private var additionalConnections: Int? { isHeldBack ? nil : slots.inUse }

    /// Notes bytes that arrived without a plan, because the length was not known.
    mutating func noteUnplanned(_ range: Range<Int64>, from source: Int) { pieces?.note(range, from: source) }

    /// Forgets the state of the pieces, because another run begins.
    mutating func forgetPieces() { pieces = nil }

    /// Starts the pieces over, because the bytes on disk belong to no version any more.
    package mutating func startOver() { pieces?.startOver() }

    /// Notes that the repeated bytes equal those on disk, so that the source has the version on disk.
    mutating func noteCompared() {
        guard let known = overlap.confirm() else { return }
        terms.resource = known
        home.noteKnownVersion()
    }

    /// Notes that a connection brought other bytes than another one, under one weak validator. No connection is added
    /// from now on.
    mutating func noteDifferentVersions() -> [Action] {
        guard comparesSeams, canShare, terms.limits.connections > 1 else { return [] }
        isSolitary = true
        return [.learnChangeUnderOneName]
    }

    /// Closes every connection. The bytes that they brought stay.
    package mutating func closeAll() -> [Action] {
        defer { active = [:] }
        return openIDs.map { .close($0) }
    }

    /// The connections in the order in which they were opened, so that equal transfers act equally.
    var openIDs: [ConnectionID] { active.keys.sorted { $0.number < $1.number } }

    /// Whether additional connections can request exactly the known version, or their bytes can be compared where they
    /// meet.
    var canShare: Bool {
        let resource = terms.resource
        guard resource.total != nil, resource.hasUsableRanges, resource.advisesAgainstRanges != true,
            resource.contentCoding == nil, !isSolitary
        else {
            return false
        }
        return resource.validator.isStrong || terms.isProvable || mayCompareSeams
    }

    /// Whether nothing but a comparison shows that two connections bring one version.
    var comparesSeams: Bool { !terms.resource.validator.isStrong && !terms.isProvable }

    /// Whether several connections may bring a file whose version is named weakly: by a weak tag or date, or, where the
    /// user asks for a number of connections, not at all.
    private var mayCompareSeams: Bool {
        !changesUnderOneName && (!terms.resource.validator.isEmpty || terms.limits.start > 1)
    }
}
