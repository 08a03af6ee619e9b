import HaulKit

/// Everything that a worker decides, without an effect: events come in, actions go out.
///
/// `now` is the worker's own clock. It never steps and counts the time that the machine sleeps (`CLOCK_BOOTTIME`), but may run at
/// another rate than the database's. Time that passes between two events is noticed at the later one, before it is looked at: a
/// process that was stopped for an hour publishes nothing of what it was about to.
///
/// Contract with the effects: each `.call` is answered once, by its event or by `.callFailed`; each `.prepare` by one `.prepared`
/// and each `.publish` by one `.published`, even where the item was suspended or forgotten meanwhile; `sentAt` is read from the same
/// clock after the action was returned. A suspended transfer ends only after `.resume`, unless it had ended already.
struct WorkerMachine: Sendable, Equatable {
    let settings: Settings
    var random: SplitMix64
    /// The latest time that was told.
    var now: Duration = .zero
    var phase = Phase.created
    var stop: Stop?
    var lease = LeaseClock()

    var items: [LeaseKey: HeldItem] = [:]
    /// Items that the destination prepares or publishes.
    var inDestination: Set<LeaseKey> = []
    /// Those of them that the worker has ended with: discarded when the destination answers.
    var abandoned: Set<LeaseKey> = []
    /// Staged files whose preparation waits.
    var prepareQueue: [LeaseKey] = []
    /// Waiting for the gate, in the order in which they came.
    var gateQueue: [LeaseKey] = []
    var reportQueue: [Report] = []

    var register = CallPace()
    var claim = CallPace()
    var beat = CallPace()
    var gate = CallPace()
    var report = CallPace()
    var maintain = CallPace()
    var leave = CallPace()
    var gateSent: [LeaseKey] = []
    /// The answer of the gate under way is too old to publish by.
    var isGateVoid = false
    var reportsSent: [Report] = []
    /// Reports that the database takes at once, at most.
    var reportLimit: Int
    /// When the queue last answered.
    var answeredAt: Duration = .zero
    var stoppedAt: Duration = .zero

    var claims = ClaimState()
    var pace = Pace()
    var destination = DestinationState()
    /// Until when each host is blocked, by the worker's clock.
    var blockedHosts: [Int32: Duration] = [:]
    var maintenance = MaintenanceState()

    /// What the current event gives; empty between events.
    var actions: [WorkerAction] = []

    init(settings: Settings, seed: UInt64) {
        self.settings = settings
        reportLimit = settings.publishBatch
        random = SplitMix64(seed: seed)
    }

    /// Items that the worker holds, with those whose end is not reported yet.
    var heldCount: Int { items.count }
    var hasEnded: Bool { phase == .ended }

    /// Begins with the registration. A second time changes nothing.
    mutating func start(at time: Duration) -> [WorkerAction] {
        guard phase == .created else { return [] }
        now = max(now, time)
        phase = .registering(settings.predecessor)
        proceed()
        return takeActions()
    }

    /// - Parameter time: the worker's clock now, not when the event came about.
    mutating func handle(_ event: WorkerEvent, at time: Duration) -> [WorkerAction] {
        guard phase != .created, phase != .ended else { return [] }
        now = max(now, time)
        checkDeadline()
        switch event {
        case .registered(let registration, let sentAt): registered(registration, sentAt: sentAt)
        case .claimed(let claim, let sentAt): claimed(claim, sentAt: sentAt)
        case .beatAnswered(let beat, let sentAt): beatAnswered(beat, sentAt: sentAt)
        case .downloadEnded(let key, let ending): downloadEnded(key, ending)
        case .prepared(let key, let result): prepared(key, result)
        case .leaseLost(let key): leaseLost(key)
        case .gated(let keys, let held): gated(keys, held: held)
        case .published(let outcomes): published(outcomes)
        case .reported(let reports, let accepted): reported(reports, accepted: accepted)
        case .maintained(let result): maintained(result)
        case .left: left()
        case .callFailed(let call, let error): callFailed(call, error)
        case .timer: break
        case .stopRequested: stopRequested()
        }
        proceed()
        return takeActions()
    }

    /// When ``WorkerEvent/timer`` is due, by the worker's clock; nil: not before another event.
    var nextTimer: Duration? {
        var times: [Duration] = []
        switch phase {
        case .created, .ended: return nil
        case .registering: if !register.isInFlight { times.append(register.notBefore) }
        case .forgetting: break
        case .working:
            if !lease.isInDoubt { times.append(lease.deadline) }
            if !beat.isInFlight { times.append(beat.notBefore) }
            if !maintain.isInFlight, stop == nil { times.append(maintain.notBefore) }
            if let time = nextClaim { times.append(time) }
            if let time = nextGate { times.append(time) }
            if let time = nextReport { times.append(time) }
            if let time = nextPreparation { times.append(time) }
        case .leaving: if !leave.isInFlight { times.append(leave.notBefore) }
        }
        if let time = givesUpAt { times.append(time) }
        return times.min()
    }

    /// Does everything that is due.
    mutating func proceed() {
        checkDeadline()
        checkPatience()
        if phase == .forgetting { registerAgain() }
        if case .registering = phase { sendRegistration() }
        if phase == .working {
            endIfFinished()
            sendBeat()
            sendClaim()
            sendMaintenance()
            prepareWaiting()
            sendGate()
            sendReports()
            endIfFinished()
        }
        if phase == .leaving { sendLeave() }
    }

    private mutating func takeActions() -> [WorkerAction] {
        defer { actions = [] }
        return actions
    }
}
