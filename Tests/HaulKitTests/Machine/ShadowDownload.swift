import Foundation

@testable import HaulKit

/// A machine and the smallest world that it can live in. Every action is applied to the world, and what must not be is
/// written down as a problem. `ShadowDownload+Events` plays the world's part.
struct ShadowDownload {
    typealias ConnectionID = DownloadMachine.ConnectionID
    typealias Event = DownloadMachine.Event
    typealias Action = DownloadMachine.Action

    struct Connection {
        enum Stage { case asking, held, flowing }
        var id: ConnectionID
        var question: RangeQuestion
        var stage = Stage.asking
        var preparation: DownloadMachine.Preparation?
        var isPrepared = false
        var isAdmitted = false
        var body: ShadowServer.Body?
        /// Next byte of the body.
        var position: Int64 = 0
    }

    /// What the engine does one after another, each answered by an event or none.
    enum Step: Equatable {
        case recover, checkpoint, answerUnchecked, publish, setAside, discard, release
        case prepare(ConnectionID, DownloadMachine.Preparation)
        case admit(ConnectionID, at: Int64, compare: Int64)
    }

    struct Entry {
        var event: Event
        var actions: [Action]
        var state: DownloadMachine.State
    }

    var machine: DownloadMachine
    var server: ShadowServer
    var random: SplitMix64
    var now = Instant.start
    /// The world is kind from now on.
    var isBenevolent = false

    var file = ShadowFile()
    var hasPart = false
    var isOpen = false
    var store: (resource: Resource?, mark: Mark) = (nil, .zero)
    var connection: Connection?
    var steps: [Step] = []
    var timer: DownloadMachine.TimerID?
    var verification: Checksum?
    var lastVerdict: DownloadMachine.Verdict?
    var lastConnection = 0
    private var isReleased = true
    private var lastReported: DownloadMachine.State?
    private var hasReportedEnd = false

    private(set) var problems: [String] = []
    private(set) var log: [Entry] = []
    private(set) var events = 0

    init(_ settings: DownloadMachine.Settings, server: ShadowServer, seed: UInt64) {
        machine = DownloadMachine(settings, seed: seed)
        self.server = server
        random = SplitMix64(seed: seed ^ 0xABCD)
    }

    var isOver: Bool {
        switch machine.state {
        case .completed, .cancelled: true
        default: false
        }
    }

    var isAtRest: Bool {
        switch machine.state {
        case .completed, .cancelled, .paused, .failed: true
        default: false
        }
    }

    // MARK: Events in, actions out

    mutating func send(_ event: Event) {
        let wasOver = isOver
        let before = machine.state
        let actions = machine.handle(event, at: now)
        events += 1
        log.append(Entry(event: event, actions: actions, state: machine.state))
        if log.count > 24 { log.removeFirst() }
        if wasOver, !actions.isEmpty || machine.state != before { complain("acts after its end") }
        for action in actions { apply(action) }
        if !actions.isEmpty || machine.state != before { checkObligation() }
        checkMarks()
    }

    /// An event that comes too late, or from nowhere.
    mutating func sendLate(_ event: Event) {
        let before = machine
        let actions = machine.handle(event, at: now)
        events += 1
        log.append(Entry(event: event, actions: actions, state: machine.state))
        if !actions.isEmpty { complain("a late event led to \(actions)") }
        if machine != before { complain("a late event changed the machine") }
    }

    /// The process dies and another takes up what the store has.
    mutating func restart(afterPowerCut: Bool, fromReplacedSource: Bool) {
        if afterPowerCut {
            file.loseUnsynced()
            // Of another boot: only what was synced counts, now and later.
            store.mark.written = store.mark.synced
        }
        let settings = machine.settings
        machine = DownloadMachine(
            settings,
            resource: store.resource,
            mark: store.mark,
            seed: random.next(),
            isFromReplacedSource: fromReplacedSource
        )
        (connection, steps, timer, verification, lastVerdict) = (nil, [], nil, nil, nil)
        (isOpen, isReleased, lastReported, hasReportedEnd, lastConnection) = (false, true, nil, false, 0)
    }

    mutating func complain(_ what: String) {
        problems.append("\(what) (state \(machine.state))")
    }

    // MARK: Applying

    private mutating func apply(_ action: Action) {
        switch action {
        case .recover:
            if !isReleased || connection != nil { complain("recovers a file that it holds") }
            isReleased = false
            steps.append(.recover)
        case .open(let id, let question): open(id, question)
        case .prepare(let id, let preparation):
            guard connection?.id == id, connection?.stage == .held else {
                return complain("prepares for \(id), which has no answer")
            }
            if connection?.preparation != nil { complain("prepares twice for \(id)") }
            connection?.preparation = preparation
            steps.append(.prepare(id, preparation))
        case .admit(let id, let offset, let compare, let limit): admit(id, offset, compare, limit)
        case .close(let id):
            guard connection?.id == id else { return complain("closes \(id), which is not open") }
            close()
        case .checkpoint: steps.append(.checkpoint)
        case .startTimer(let id, let wait):
            if timer != nil { complain("starts a timer while one runs") }
            let policy = machine.settings.retry
            if wait < .zero || wait > max(policy.cap, policy.retryAfterCap) { complain("waits \(wait)") }
            timer = id
        case .cancelTimer(let id):
            if timer != id { complain("cancels \(id), which does not run") }
            timer = nil
        case .verify(let checksum):
            if connection != nil { complain("verifies while a connection is open") }
            if checksum == nil { steps.append(.answerUnchecked) } else { verification = checksum }
            lastVerdict = nil
        case .cancelVerification: verification = nil
        case .publish:
            if lastVerdict != .right, lastVerdict != .unchecked { complain("publishes after \(lastVerdict as Any)") }
            if connection != nil || isReleased { complain("publishes what it does not hold still") }
            steps.append(.publish)
        case .setAside:
            guard case .mismatch? = lastVerdict else { return complain("sets aside after \(lastVerdict as Any)") }
            steps.append(.setAside)
        case .discardPartial:
            if machine.state != .cancelled { complain("discards the file uncancelled") }
            steps.append(.discard)
        case .releaseFile:
            if connection != nil { complain("releases a file that is written to") }
            isReleased = true
            steps.append(.release)
        case .report: report()
        }
    }

    private mutating func open(_ id: ConnectionID, _ question: RangeQuestion) {
        if connection != nil { complain("opens \(id) while a connection is open") }
        if id.number <= lastConnection { complain("uses \(id) again") }
        if isReleased { complain("opens \(id) without the file") }
        if timer != nil, case .resting? = log.dropLast().last?.state { timer = nil }
        if timer != nil { complain("opens \(id) while a timer runs") }
        lastConnection = id.number
        connection = Connection(id: id, question: question)
        guard question.asksForRange else { return }
        if question.offset != file.mark.written { complain("asks from \(question.offset) with \(file.mark) on disk") }
        let versions = file.versions(from: 0, to: question.offset)
        guard versions.count == 1, let number = versions.first, let version = server.versions[number] else {
            return complain("continues bytes of the versions \(versions)")
        }
        if question.known?.validator.entityTag?.text != version.tag { complain("takes the bytes for another version") }
        if question.known?.validator.lastModified != version.date { complain("takes the bytes for another date") }
    }

    private mutating func admit(_ id: ConnectionID, _ offset: Int64, _ compare: Int64, _ limit: Int64?) {
        guard let open = connection, open.id == id, open.stage == .held, open.isPrepared, !open.isAdmitted else {
            return complain("admits \(id), which is not open and prepared")
        }
        if isReleased { complain("admits a body into a released file") }
        if compare < 0 || compare > offset { complain("compares \(compare) bytes before \(offset)") }
        let end = open.preparation?.end ?? machine.resource?.total
        if limit != end.map({ $0 - offset }) { complain("limits to \(limit as Any) at \(offset) of \(end as Any)") }
        connection?.isAdmitted = true
        steps.append(.admit(id, at: offset, compare: compare))
    }

    /// What a closed connection had brought is still written.
    private mutating func close() {
        if connection?.stage == .flowing { flow() }
        connection = nil
    }

    /// Some more of the body reaches the file.
    mutating func flow() {
        guard let open = connection, let body = open.body, open.position < body.end else { return }
        let count = Int64.random(in: 1...body.end - open.position, using: &random)
        connection?.position += count
        file.append(count, of: body.version.number)
        let versions = file.versions(from: 0, to: file.mark.written)
        if versions.count != 1 { complain("joined bytes of the versions \(versions.sorted())") }
    }

    private mutating func report() {
        if machine.state == lastReported { complain("reports twice") }
        lastReported = machine.state
        store.resource = machine.resource
        switch machine.state {
        case .completed, .failed, .cancelled:
            let isNewEnd = machine.state != .cancelled
            if hasReportedEnd, isNewEnd { complain("reports two ends of one run") }
            hasReportedEnd = true
        case .queued: hasReportedEnd = false
        default:
            if hasReportedEnd, machine.state != .paused { complain("goes on after its end was reported") }
        }
    }

    // MARK: What always holds

    private mutating func checkObligation() {
        let isMet =
            switch machine.state {
            case .queued, .paused, .completed, .failed, .cancelled: connection == nil && timer == nil
            case .recovering: steps.contains(.recover)
            case .connecting(let id, _): connection?.id == id && connection?.stage == .asking
            case .preparing(let id, let preparation, _): steps.contains(.prepare(id, preparation))
            case .transferring(let id): connection?.id == id && connection?.isAdmitted == true
            case .resting: timer != nil && connection == nil
            case .verifying: verification != nil || steps.contains(.answerUnchecked)
            case .publishing: steps.contains(.publish)
            }
        if !isMet { complain("waits for something that cannot come") }
    }

    private mutating func checkMarks() {
        let mark = machine.mark
        if mark.synced > mark.written || mark.written < 0 { complain("has the impossible mark \(mark)") }
        switch machine.state {
        case .connecting, .transferring, .resting, .verifying, .publishing:
            if mark.written > file.mark.written || mark.synced > file.mark.synced {
                complain("claims \(mark), the disk has \(file.mark)")
            }
            if case .transferring = machine.state { return }
            if mark.written < file.mark.written { complain("forgets bytes: \(mark), the disk has \(file.mark)") }
        case .paused, .failed:
            guard steps.isEmpty, hasPart else { return }
            if file.versions(from: 0, to: mark.written).contains(ShadowFile.garbage) || mark.written > file.size {
                complain("claims \(mark), which the disk does not have")
            }
        default: break
        }
    }
}
