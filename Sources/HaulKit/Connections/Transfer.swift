/// The part of a download's life in which bytes arrive: which connections there are, what each of them owes, and what
/// follows from what happens to them. Part of the machine, and as pure.
///
/// What is stored is written by the transfer's own files (`Transfer+…`) and read by others.
///
/// The first connection came by the machine's own question and may begin, or begin over, a version. All further ones only
/// ever bring stretches of exactly that version; whatever goes wrong with them, the first one carries on.
struct Transfer: Sendable, Equatable {
    typealias ConnectionID = DownloadMachine.ConnectionID
    typealias Action = DownloadMachine.Action

    /// What has become of the transfer after something happened.
    enum Outcome: Sendable, Equatable {
        case goesOn
        /// Every byte is here, and every piece is right.
        case complete
        /// No connection is left, and none could be opened.
        case noConnections
        /// Somebody says that another version stands at the URL.
        case versionMismatch
        /// The home source turned out to be a bad one: another one has to be asked.
        case primaryRejected
        /// A piece is wrong again and again, wherever it comes from.
        case wrongPiece(Int)
    }

    /// What the machine knows and the transfer goes by.
    struct Terms: Sendable, Equatable {
        var resource: Resource
        /// A digest will prove the whole.
        var isProvable = false
        var resumesUnverified = false
        var pieces: PieceHashes?
        var limits = Limits()
    }

    struct Limits: Sendable, Equatable, Codable {
        /// Most connections of a download.
        var connections = 1
        /// How many to have from the beginning, without waiting for what their number brings.
        var start = 1
        var smallestPiece: Int64 = 256 << 10
    }

    var active: [ConnectionID: ActiveConnection] = [:]
    var plan: SegmentPlan?
    var pieces: PieceVerifier?
    var controller = ConnectionController(ceiling: 1)
    var terms = Terms(resource: Resource(total: nil))
    /// Set when only one connection can be had, whatever the limits say.
    var isSolitary = false
    /// The first connection, while the bytes that come again have not been compared: until then it is unknown whether it
    /// brings the version that is here, and nothing of it may join that.
    var uncompared: ConnectionID?
    /// What is known of the file once they have.
    var afterComparing: Resource?
    /// It has been found out, and is to be known by the machine too.
    private(set) var compared: Resource?
    /// The home source's link leads to another place than the version is known of: it is judged as a mirror is.
    var isHomeForeign = false
    /// No further connection is to be had from there.
    var isHomeBarred = false
    /// Times that a further connection said that the version had changed.
    var doubts = 0
    /// Further connections that failed without having brought a byte, in a row.
    var stumbles = 0
    var quietUntil = Instant.start
    /// Free connection slots of each host; nil while they are not counted.
    var connectionSlots: [Origin: Int]?
    /// Another connection would be opened if a host had a free connection slot.
    var wantsConnectionSlot = false
    /// A connection was given up for another download, or found no connection slot: none is asked for before the next tick.
    var hostIsFull = false
    /// We are the ones who make it slow.
    var isHeldBack = false
    /// Slow connections that were closed for another.
    var replacements = 0
    /// About what one more request costs before its first byte comes, as the last ones did.
    private(set) var requestTime = SegmentPlan.usualRequestTime
    /// The longest that an answer took, that of the first connection included.
    private(set) var slowestAnswer: Duration = .zero
    /// When the first connection was last asked for.
    var firstAsked: Instant?
    var issued = 0

    /// Whether there was ever more than one connection.
    var isShared: Bool { issued > 0 }

    mutating func issueID() -> ConnectionID {
        issued += 1
        return ConnectionID(number: issued)
    }

    // MARK: Beginning and ending

    /// The first connection, and what it is to bring.
    typealias First = (id: ConnectionID, lower: Int64, upper: Int64?, compare: Int64)

    /// The first connection's body is about to flow; or every byte is here, and only pieces are left to be compared.
    mutating func begin(
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
            // What the host refused before an interruption it refuses after it.
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

    /// The home source brought these bytes while the length was not known, and so no plan.
    mutating func noteUnplanned(_ range: Range<Int64>, from source: Int) { pieces?.note(range, from: source) }

    /// Another run begins: nothing is known of the bytes that are here.
    mutating func forgetPieces() { pieces = nil }

    /// The bytes that are here belong to no version any more.
    mutating func startOver() { pieces?.startOver() }

    /// The bytes that came again are those on disk: the version is the one that this source has.
    mutating func noteCompared() {
        uncompared = nil
        guard let known = afterComparing else { return }
        terms.resource = known
        (afterComparing, compared, isHomeForeign) = (nil, known, false)
    }

    /// A further connection had its answer so long after it was asked for; its bytes take a little longer to flow.
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

    /// Every connection goes; what they brought stays.
    mutating func closeAll() -> [Action] {
        defer { active = [:] }
        return openIDs.map { .close($0) }
    }

    /// In the order in which they were opened, so that equal transfers act equally.
    var openIDs: [ConnectionID] { active.keys.sorted { $0.number < $1.number } }

    /// Whether further connections can be told which version to bring: under a weak name two of them may bring two versions,
    /// and nothing of either has been compared.
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
