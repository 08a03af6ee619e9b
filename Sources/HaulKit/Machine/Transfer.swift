/// The part of a download's life in which bytes arrive: which connections there are, what each of them owes, and what
/// follows from what happens to them. Part of the machine, and as pure.
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
        case dry
        /// Somebody says that another version stands at the URL.
        case doubtful
        /// The home source turned out to be a bad one: another one has to be asked.
        case homeless
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

    struct Limits: Sendable, Equatable {
        /// Most connections of a download.
        var connections = 1
        /// How many to have from the beginning, without waiting for what their number brings.
        var start = 1
        var smallestPiece: Int64 = 256 << 10
    }

    private(set) var lines: [ConnectionID: Line] = [:]
    private(set) var plan: SegmentPlan?
    private(set) var pieces: PieceLedger?
    private var controller = ConnectionController(ceiling: 1)
    private var terms = Terms(resource: Resource(total: nil))
    /// Set when only one connection can be had, whatever the limits say.
    private var isSolitary = false
    /// The first connection, while the bytes that come again have not been compared: until then nobody knows whether it
    /// brings the version that is here, and nothing of it may join that.
    private var uncompared: ConnectionID?
    /// Times that a further connection said that the version had changed.
    private(set) var doubts = 0
    /// Further connections that failed without having brought a byte, in a row.
    private var stumbles = 0
    private var quietUntil = Instant.start
    /// The host has no room for another connection; asked again at the next tick.
    private var hostIsFull = false
    /// We are the ones who make it slow.
    var isHeldBack = false
    private var issued = 0

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
        _ mark: Mark,
        _ sources: SourceBook,
        knownLimit: Int?,
        at now: Instant
    ) {
        self.terms = terms
        lines = [:]
        if let first { lines[first.id] = Line(source: sources.home, question: nil, at: now) }
        plan = nil
        uncompared = first.flatMap { $0.compare > 0 ? $0.id : nil }
        quietUntil = now
        hostIsFull = false
        controller = ConnectionController(
            ceiling: canShare ? terms.limits.connections : 1,
            start: canShare ? terms.limits.start : 1,
            // What the host refused before an interruption it refuses after it.
            knownLimit: controller.learnedLimit ?? knownLimit
        )
        guard let total = terms.resource.total else { return }
        var plan = SegmentPlan(
            total: total,
            landed: mark.written,
            smallestPiece: terms.limits.smallestPiece,
            alignment: terms.pieces?.pieceLength ?? 1
        )
        if let first, first.lower < first.upper ?? total {
            _ = plan.assign(first.lower..<(first.upper ?? total), to: first.id)
        }
        self.plan = plan
        if pieces?.hashes != terms.pieces || pieces?.total != total {
            pieces = terms.pieces.map { PieceLedger($0, total: total) }
        } else {
            pieces?.resume()
        }
    }

    /// The home source brought these bytes while the length was not known, and so no plan.
    mutating func noteUnplanned(_ range: Range<Int64>, from source: Int) { pieces?.note(range, from: source) }

    /// Another run begins: nothing is known of the bytes that are here.
    mutating func forgetPieces() { pieces = nil }

    /// The bytes that are here belong to no version any more.
    mutating func startOver() { pieces?.startOver() }

    /// Every connection goes; what they brought stays.
    mutating func closeAll() -> [Action] {
        defer { lines = [:] }
        return openIDs.map { .close($0) }
    }

    /// In the order in which they were opened, so that equal transfers act equally.
    private var openIDs: [ConnectionID] { lines.keys.sorted { $0.number < $1.number } }

    /// Whether further connections can be told which version to bring.
    private var canShare: Bool {
        let resource = terms.resource
        guard resource.total != nil, resource.hasUsableRanges, resource.contentCoding == nil, !isSolitary else {
            return false
        }
        let validator = resource.validator
        return validator.strongTag != nil || validator.lastModifiedIsStrong || terms.isProvable
    }

    // MARK: What happens

    /// Bytes have landed, or time has passed.
    mutating func advance(_ mark: Mark, _ sources: inout SourceBook, at now: Instant) -> ([Action], Outcome) {
        hostIsFull = false
        var actions = absorb(mark, &sources, at: now)
        guard let plan else { return (actions, .goesOn) }
        if !plan.isComplete {
            if !isHeldBack {
                let flowing = lines.values.count { $0.isFlowing }
                controller.tick(
                    landed: mark.count,
                    flowing: flowing,
                    opening: lines.count - flowing,
                    missing: plan.total - mark.count,
                    at: now
                )
                actions += replaceLaggards(&sources, at: now)
            }
            actions += schedule(&sources, at: now)
        }
        actions += closeDone(at: now)
        return (actions, outcome)
    }

    /// A further connection was answered.
    mutating func answered(
        _ id: ConnectionID,
        _ head: ResponseHead,
        retryAfter: Duration?,
        _ sources: inout SourceBook,
        at now: Instant
    ) -> ([Action], Outcome) {
        guard let line = lines[id], let question = line.question else { return ([], .goesOn) }
        // Others have brought meanwhile what it was to bring.
        guard let segment = plan?.segments[id] else { return (drop(id), outcome) }
        let isMirror = sources.isMirror(line.source)
        let answer = FurtherAnswer.judge(head, to: question, isMirror: isMirror)
        if case .accept(let validator) = answer {
            lines[id]?.answer(from: question.offset, at: now)
            if segment.end < question.end ?? segment.end { lines[id]?.isNarrowed = true }
            sources.note(validator, of: line.source)
            let limit = max(0, segment.end - question.offset)
            return ([.admit(id, at: question.offset, compare: 0, limit: limit)], .goesOn)
        }
        var actions = drop(id)
        switch answer {
        case .accept: break
        case .changed:
            doubts += 1
            if doubts > 1 { isSolitary = true }
            return (actions, .doubtful)
        case .noUsableRange:
            if isMirror { sources.drop(line.source) } else { keepToOne() }
        case .otherFile: sources.drop(line.source)
        case .refused(let status):
            if isMirror && !FailureTable.isWorthRetrying(status: status, isRedirected: false) {
                sources.drop(line.source)
            } else if isMirror {
                sources.noteFailure(of: line.source)
            } else {
                actions += refused(retryAfter, at: now)
            }
        }
        actions += schedule(&sources, at: now)
        return (actions, outcome)
    }

    enum End: Sendable, Equatable {
        case finished
        case failed
        /// The host has no room for it.
        case noRoom
    }

    /// A connection has ended by itself.
    mutating func ended(_ id: ConnectionID, _ end: End, _ mark: Mark, _ sources: inout SourceBook, at now: Instant) -> (
        [Action], Outcome
    ) {
        let before = plan?.segments[id]?.position
        var actions = absorb(mark, &sources, at: now)
        guard let line = lines[id] else { return (actions, .goesOn) }
        let hasBrought = line.firstByte != nil || plan?.segments[id]?.position != before
        let isDone = plan?.segments[id] == nil
        actions += drop(id).filter { $0 != .close(id) }
        switch end {
        case .noRoom: hostIsFull = true
        case .finished where isDone || hasBrought: stumbles = 0
        case .finished: stumble(at: now)
        case .failed where line.isFlowing:
            stumble(at: now)
        case .failed:
            // It never came to an answer: the host may allow only so many.
            if sources.isMirror(line.source) {
                sources.noteFailure(of: line.source)
            } else {
                actions += refused(nil, at: now)
            }
        }
        actions += schedule(&sources, at: now)
        actions += closeDone(at: now)
        return (actions, outcome)
    }

    /// Another download needs a connection to this host: gives up the one that is missed least, unless it is the last.
    mutating func yield(from source: (Int) -> Bool, _ sources: inout SourceBook, at now: Instant) -> [Action] {
        guard lines.count > 1 else { return [] }
        let slowest = lines.filter { source($0.value.source) }
            .min {
                ($0.value.bytesPerSecond(at: now), $1.key.number) < ($1.value.bytesPerSecond(at: now), $0.key.number)
            }
        guard let slowest else { return [] }
        hostIsFull = true
        return drop(slowest.key)
    }

    /// A piece has been compared with its digest.
    mutating func checked(_ index: Int, isRight: Bool, _ sources: inout SourceBook, at now: Instant) -> (
        [Action], Outcome
    ) {
        guard let verdict = pieces?.checked(index, isRight: isRight) else { return ([], .goesOn) }
        if let proven = verdict.proven { sources.prove(proven) }
        var actions: [Action] = []
        for range in verdict.forgotten { actions += forget(range) }
        if let culprit = verdict.culprit { actions += convict(culprit, &sources) }
        if sources.sources[sources.home].isDropped { return (actions + closeAll(), .homeless) }
        if verdict.times >= Self.mostWrongTimes { return (actions + closeAll(), .wrongPiece(index)) }
        actions += schedule(&sources, at: now)
        return (actions, outcome)
    }

    private static let mostWrongTimes = 3

    /// A source sent wrong bytes: nothing more comes from it, if there is another.
    private mutating func convict(_ culprit: Int, _ sources: inout SourceBook) -> [Action] {
        guard sources.sources.indices.contains(where: { $0 != culprit && !sources.sources[$0].isDropped }) else {
            return []
        }
        sources.drop(culprit)
        var actions: [Action] = []
        for id in openIDs where lines[id]?.source == culprit { actions += drop(id) }
        // One that sent right pieces before may have sent right parts, which the check of their pieces will show.
        if sources.sources[culprit].isProven { return actions }
        for range in pieces?.disown(culprit) ?? [] { actions += forget(range) }
        return actions
    }

    // MARK: Deciding

    private var outcome: Outcome {
        guard let plan else { return lines.isEmpty ? .dry : .goesOn }
        if plan.isComplete, lines.isEmpty {
            guard let pieces, !pieces.isDone else { return .complete }
            return pieces.isChecking ? .goesOn : .dry
        }
        return lines.isEmpty ? .dry : .goesOn
    }

    /// Takes over what is on disk: positions, speeds, pieces that became complete, connections that owe nothing any more.
    private mutating func absorb(_ mark: Mark, _ sources: inout SourceBook, at now: Instant) -> [Action] {
        guard var plan else {
            for id in lines.keys { lines[id]?.record(mark.prefix, advanced: true, at: now) }
            return []
        }
        for (id, segment) in plan.segments {
            let position = mark.written.firstMissing(in: segment.owed)
            let hasAdvanced = position > segment.position
            // What lands before the answer is what another had still taken in when it was cut short.
            if hasAdvanced, let line = lines[id], line.isFlowing {
                pieces?.note(segment.position..<position, from: line.source)
                stumbles = 0
            }
            if hasAdvanced, id == uncompared { uncompared = nil }
            lines[id]?.record(position, advanced: hasAdvanced, at: now)
            _ = plan.advance(id, to: position)
            if let line = lines[id], line.isFlowing {
                if let speed = line.measuredSpeed(at: now) { sources.note(speed, of: line.source) }
            }
        }
        plan.absorb(mark.written)
        for id in lines.keys where plan.segments[id] == nil && lines[id]?.doneSince == nil {
            lines[id]?.doneSince = now
        }
        self.plan = plan
        return (pieces?.complete(mark.written) ?? []).map { .checkPiece($0) }
    }

    /// Closes the connections that owe nothing any more and would not end by themselves.
    private mutating func closeDone(at now: Instant) -> [Action] {
        guard let plan else { return [] }
        var actions: [Action] = []
        for id in openIDs {
            guard let line = lines[id] else { continue }
            guard plan.segments[id] == nil || plan.isComplete else { continue }
            let isLate = line.doneSince.map { now - $0 > Self.graceToEnd } ?? false
            if line.isNarrowed || !line.isFlowing || isLate { actions += drop(id) }
        }
        return actions
    }

    /// A body whose last wanted byte is here is about to end, and its connection can then be used again.
    private static let graceToEnd = Duration.milliseconds(500)

    private mutating func drop(_ id: ConnectionID) -> [Action] {
        plan?.release(id)
        return lines.removeValue(forKey: id) == nil ? [] : [.close(id)]
    }

    private mutating func forget(_ range: Range<Int64>) -> [Action] {
        plan?.forget(range)
        return [.forget(range)]
    }

    private mutating func keepToOne() {
        isSolitary = true
        controller = ConnectionController(ceiling: 1)
    }

    private mutating func refused(_ retryAfter: Duration?, at now: Instant) -> [Action] {
        let before = controller.learnedLimit
        controller.refused(flowing: lines.values.count { $0.isFlowing }, retryAfter: retryAfter, at: now)
        guard let limit = controller.learnedLimit, limit != before else { return [] }
        return [.learnLimit(limit)]
    }

    private mutating func stumble(at now: Instant) {
        stumbles += 1
        let wait = Duration.milliseconds(100 << min(stumbles, 7))
        quietUntil = max(quietUntil, now + wait)
    }

    /// Opens as many connections as are wanted and can be of use.
    private mutating func schedule(_ sources: inout SourceBook, at now: Instant) -> [Action] {
        guard canShare || !sources.isAlone, let plan, !plan.isComplete, !hostIsFull, uncompared == nil,
            now >= quietUntil
        else {
            return []
        }
        var actions: [Action] = []
        while controller.mayOpen(count: lines.count, at: now), let opened = openOne(&sources, at: now) {
            actions += opened
        }
        return actions
    }

    private mutating func openOne(_ sources: inout SourceBook, at now: Instant) -> [Action]? {
        // With nobody left, the machine asks by the whole ladder.
        guard var plan, !lines.isEmpty else { return nil }
        let open = lines.values.reduce(into: [:]) { $0[$1.source, default: 0] += 1 }
        guard let source = sources.next(open: open, needsProof: pieces != nil, mayShareHome: canShare) else {
            return nil
        }
        let isOnTrial = pieces != nil && sources.isMirror(source) && !sources.sources[source].isProven
        let speeds = lines.compactMapValues { $0.measuredSpeed(at: now) }
        let id = issueID()
        // At the very end there is no time to watch for long, and only slow ones are left to compare with: but what a
        // connection to this source can do is known.
        var hoped = lines.compactMapValues { $0.measuredSpeed(at: now, after: .milliseconds(50)) }
        hoped[id] = sources.sources[source].bytesPerSecond
        let most = isOnTrial ? terms.pieces?.pieceLength : nil
        guard let claim = plan.claim(for: id, speeds: speeds, most: most) ?? plan.hedge(for: id, speeds: hoped) else {
            issued -= 1
            return nil
        }
        var range = claim.range
        if let most, range.upperBound - range.lowerBound > most {
            plan.trim(id, to: most)
            range = range.lowerBound..<range.lowerBound + most
        }
        self.plan = plan
        var actions: [Action] = []
        if let narrowed = claim.narrowed {
            lines[narrowed.id]?.isNarrowed = true
            actions.append(.narrow(narrowed.id, to: narrowed.newEnd))
        }
        if claim.isHedge {
            // Whoever brings the last of it first makes the other one needless.
            for (other, segment) in plan.segments
            where other != id && segment.end > claim.range.lowerBound
                && segment.position < claim.range.upperBound
            { lines[other]?.isNarrowed = true }
        }
        var question = RangeQuestion.further(range, of: terms.resource, isPlain: doubts > 0)
        question.source = source
        question.isProvable = terms.isProvable
        if sources.isMirror(source) {
            // Its own name for the version, once it has said it.
            question.condition = sources.sources[source].validator?.strongTag.map { .ifMatch($0.text) } ?? .none
        }
        var line = Line(source: source, question: question, at: now)
        line.isNarrowed = claim.isHedge
        lines[id] = line
        actions.append(.open(id, question))
        return actions
    }

    /// Closes connections that have fallen silent, or are far slower than the others, and have much left to bring: a new one
    /// is likely to do better. What they owe is anybody's again.
    private mutating func replaceLaggards(_ sources: inout SourceBook, at now: Instant) -> [Action] {
        guard let plan, lines.count > 1 else { return [] }
        let speeds = lines.compactMapValues { $0.measuredSpeed(at: now) }
        let sorted = speeds.values.sorted()
        guard let fastest = sorted.last, fastest > 0 else { return [] }
        let median = sorted[sorted.count / 2]
        var actions: [Action] = []
        for id in openIDs {
            guard lines.count > 1, let line = lines[id], let segment = plan.segments[id]
            else { continue }
            let isSilent = now - line.lastByte > Self.longestSilence
            var isSlow = false
            if replacements < Self.mostReplacements, sorted.count >= 3, line.isPastTrial(at: now),
                let speed = speeds[id], speed < 0.3 * median
            {
                // Not worth it for what is done in a moment.
                isSlow = Double(segment.remaining) > speed * 0.5
            }
            guard isSilent || isSlow else { continue }
            if isSlow { replacements += 1 }
            if isSilent, sources.isMirror(line.source) { sources.noteFailure(of: line.source) }
            actions += drop(id)
        }
        return actions
    }

    private var replacements = 0
    private static let mostReplacements = 16
    /// Others bring bytes meanwhile: what a single connection is given in which to recover is too long here.
    private static let longestSilence = Duration.seconds(3)
}
