import Foundation

@testable import HaulCore

/// A machine in the smallest possible world: a file, servers and connections. Every action is applied to the world, and
/// violated rules are recorded as problems (`ShadowDownload+Actions`, `ShadowDownload+Invariants`).
/// `ShadowDownload+Events`, `+Steps` and `+Connections` send the events of the world.
struct ShadowDownload {
    typealias ConnectionID = DownloadMachine.ConnectionID
    typealias Event = DownloadMachine.Event
    typealias Action = DownloadMachine.Action

    /// A step of the engine. Steps run one after another, and each leads to one event or none.
    enum Step: Equatable {
        case recover, checkpoint, answerUnchecked, publish, setAside, discard, release
        case chooseBlocks(DownloadMachine.ChoiceID, ComparisonPlan)
        case prepare(ConnectionID, DownloadMachine.Preparation)
        case startBody(ConnectionID, at: Int64, compare: Int64, limit: Int64?)
        case startBodyAtSeam(ConnectionID, at: Int64, repeated: Int64, limit: Int64)

        var isPreparation: Bool {
            if case .prepare = self { return true }
            return false
        }
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
    /// Whether servers and disks cause no more faults from now on.
    var isBenevolent = false

    var file = ShadowFile()
    var hasPart = false
    var isOpen = false
    var store: (resource: Resource?, persisted: PersistedRanges) = (nil, .zero)
    var connections: [ConnectionID: ShadowConnection] = [:]
    var steps: [Step] = []
    /// Pieces that wait for the comparison with their digests.
    var uncheckedPieces: [Int] = []
    var timer: DownloadMachine.TimerID?
    var verification: DownloadRequest.Checksum?
    /// The query that the source provider has not answered yet.
    var ask: DownloadMachine.AskID?
    /// Number of links that the source provider has named.
    var links = 0
    var lastVerdict: DownloadMachine.Decision?
    var lastConnection = 0
    var isReleased = true
    var lastReported: DownloadMachine.State?
    var lastReportedHold: HoldReason?
    var hasReportedEnd = false
    /// The bytes compared since the last resume.
    var compared = ByteSet()
    /// The versions that they were compared with.
    var comparedWith: Set<Int> = []
    /// The bytes that additional connections repeated, with their versions. They are compared when they are written.
    var seams: [(bytes: ByteSet, version: Int)] = []
    /// Whether bytes of two versions were joined without a strong validator, and differ only where nothing was
    /// compared. This is the only mixture that the documentation allows.
    var isExcused = false

    private(set) var problems: [String] = []
    private(set) var log: [Entry] = []
    private(set) var events = 0
    private(set) var eventsAfterEnd = 0

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

    var openIDs: [ConnectionID] { connections.keys.sorted { $0.number < $1.number } }

    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }
    mutating func fails(_ percent: Int) -> Bool { !isBenevolent && chance(percent) }

    // MARK: Events in, actions out

    mutating func send(_ event: Event) {
        let wasOver = isOver
        let (before, hold) = (machine.state, machine.hold)
        let actions = machine.handle(event, at: now)
        note(event, actions)
        if wasOver, !actions.isEmpty || machine.state != before { complain("acts after its end") }
        checkHold(event, before, hold)
        for action in actions { apply(action) }
        if !actions.isEmpty || machine.state != before { checkObligation() }
        checkMarks()
        checkPlan()
        checkVersions()
    }

    /// Sends an event that is too late or has no cause, and checks that it has no effect.
    mutating func sendLate(_ event: Event) {
        let before = machine
        let actions = machine.handle(event, at: now)
        note(event, actions)
        if !actions.isEmpty { complain("a late event led to \(actions)") }
        if machine != before { complain("a late event changed the machine") }
    }

    private mutating func note(_ event: Event, _ actions: [Action]) {
        events += 1
        if isOver { eventsAfterEnd += 1 }
        if case .bytesLanded = event, actions.isEmpty { return }
        log.append(Entry(event: event, actions: actions, state: machine.state))
        if log.count > 32 { log.removeFirst() }
    }

    mutating func complain(_ what: String) {
        problems.append("\(what) (state \(machine.state))")
    }

    /// Replaces the machine by a new one with the state of the store, as after the end of the process.
    mutating func restart(afterPowerCut: Bool, fromReplacedSource: Bool) {
        if afterPowerCut {
            file.loseUnsynced()
            // After a reboot only synced bytes count.
            store.persisted.written = store.persisted.synced
        }
        var settings = machine.settings
        settings.isLinkVouchedFor = machine.link.isVouchedFor
        machine = DownloadMachine(
            settings,
            resource: store.resource,
            persisted: store.persisted,
            seed: random.next(),
            isFromReplacedSource: fromReplacedSource
        )
        (connections, steps, uncheckedPieces) = ([:], [], [])
        (compared, comparedWith) = (ByteSet(), [])
        (timer, verification, lastVerdict, ask) = (nil, nil, nil, nil)
        (isOpen, isReleased, lastReported, hasReportedEnd, lastConnection) = (false, true, nil, false, 0)
        lastReportedHold = nil
    }
}
