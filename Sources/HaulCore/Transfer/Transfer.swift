/// The part of a run in which bytes arrive: the connections, what each of them owes, and the reactions to their events.
/// It is a part of the machine, and like the machine a value without side effects.
///
/// The stored properties are written only by the files of this type (`Transfer+…`).
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
        /// A piece is wrong again and again, wherever it comes from.
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
    }

    package struct Limits: Sendable, Equatable, Codable {
        /// Largest number of connections of a download.
        package var connections = 1
        /// Number of connections to have from the beginning, without a measurement of what they bring.
        package var start = 1
        package var smallestPiece: Int64 = 256 << 10

        package init(connections: Int = 1, start: Int = 1, smallestPiece: Int64 = 256 << 10) {
            self.connections = connections
            self.start = start
            self.smallestPiece = smallestPiece
        }
    }

    package var active: [ConnectionID: ActiveConnection] = [:]
    package var plan: SegmentPlan?
    package var pieces: PieceVerifier?
    var controller = ConnectionController(ceiling: 1)
    var terms = Terms(resource: Resource(total: nil))
    /// Whether only one connection can be had, whatever the limits are.
    var isSolitary = false
    /// The first connection, until the bytes that it repeats have been compared. Before that it is unknown whether it
    /// brings the version on disk, and its bytes must not be joined with that version.
    var uncompared: ConnectionID?
    /// The resource as it is known after that comparison.
    var afterComparing: Resource?
    /// The resource that a comparison has confirmed, until the machine takes it.
    package private(set) var compared: Resource?
    /// Whether the link of the first source leads to another place than the known version. The source is then judged
    /// like a mirror.
    var isHomeForeign = false
    /// Whether the first source gets no additional connections.
    var isHomeBarred = false
    /// Number of times that an additional connection said that the version had changed.
    var doubts = 0
    /// Number of failures of additional connections since bytes last arrived.
    var stumbles = 0
    var quietUntil = Instant.start
    /// Free connection slots of each host; `nil` while they are not counted.
    package var connectionSlots: [Origin: Int]?
    /// Whether another connection would be opened if a host had a free connection slot.
    package var wantsConnectionSlot = false
    /// Whether a connection was given up for another download or found no connection slot. No connection is opened
    /// before the next tick then.
    var hostIsFull = false
    /// Whether a speed limit slows the download.
    package var isHeldBack = false
    /// Number of slow connections that were closed to be replaced.
    var replacements = 0
    /// Estimated time from a request to its first byte, by the latest answers.
    private(set) var requestTime = SegmentPlan.usualRequestTime
    /// The longest time to an answer, that of the first connection included.
    private(set) var slowestAnswer: Duration = .zero
    /// When the first connection was last requested; `nil` after its answer.
    var firstAsked: Instant?
    var issued = 0

    /// Whether there was ever more than one connection.
    package var isShared: Bool { issued > 0 }

    mutating func issueID() -> ConnectionID {
        issued += 1
        return ConnectionID(number: issued)
    }

    // MARK: Beginning and ending

    /// The first connection, and what it is to bring.
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
        uncompared = first.flatMap { $0.compare > 0 ? $0.id : nil }
        (afterComparing, compared, isHomeBarred) = (nil, nil, false)
        quietUntil = now
        hostIsFull = false
        controller = ConnectionController(
            ceiling: canShare ? terms.limits.connections : 1,
            start: canShare ? max(terms.limits.start, start(at: host, persisted)) : 1,
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

    private func start(at host: KnownHost, _ persisted: PersistedRanges) -> Int {
        terms.resource.total.map { host.start(missing: $0 - persisted.count) } ?? 1
    }

    /// Notes bytes that arrived without a plan, because the length was not known.
    mutating func noteUnplanned(_ range: Range<Int64>, from source: Int) { pieces?.note(range, from: source) }

    /// Forgets what was known of the pieces on disk, because another run begins.
    mutating func forgetPieces() { pieces = nil }

    /// Starts the pieces over, because the bytes on disk belong to no version any more.
    package mutating func startOver() { pieces?.startOver() }

    /// Notes that the repeated bytes equal those on disk, so that the source has the version on disk.
    mutating func noteCompared() {
        uncompared = nil
        guard let known = afterComparing else { return }
        terms.resource = known
        (afterComparing, compared, isHomeForeign) = (nil, known, false)
    }

    /// Notes the time between the request and the answer of an additional connection. Its bytes begin to flow a little
    /// later.
    mutating func noteAnswer(after time: Duration) {
        slowestAnswer = max(slowestAnswer, time)
        requestTime = min(max((requestTime + time * 2) / 2, .milliseconds(5)), .seconds(1))
    }

    mutating func noteFirstAnswer(at now: Instant) {
        guard let asked = firstAsked else { return }
        firstAsked = nil
        slowestAnswer = max(slowestAnswer, now - asked)
    }

    mutating func takeCompared() -> Resource? {
        defer { compared = nil }
        return compared
    }

    /// Closes every connection. The bytes that they brought stay.
    package mutating func closeAll() -> [Action] {
        defer { active = [:] }
        return openIDs.map { .close($0) }
    }

    /// The connections in the order in which they were opened, so that equal transfers act equally.
    var openIDs: [ConnectionID] { active.keys.sorted { $0.number < $1.number } }

    /// Whether additional connections can be told which version to bring. Under a weak validator two of them may bring
    /// two versions, and neither has been compared.
    var canShare: Bool {
        let resource = terms.resource
        guard resource.total != nil, resource.hasUsableRanges, resource.advisesAgainstRanges != true,
            resource.contentCoding == nil, !isSolitary
        else {
            return false
        }
        return resource.validator.isStrong || terms.isProvable
    }
}
