import HaulKit

/// Makes all decisions of a worker without side effects: takes events and returns actions.
///
/// `now` is the worker's own clock. The clock never steps and counts the time in which the machine sleeps
/// (`CLOCK_BOOTTIME`), but may run at another rate than the database's clock. The machine checks the elapsed time
/// before it handles an event, so a process that was stopped for an hour publishes nothing from before.
///
/// Contract with the effects:
/// - Each `.call` gets one answer: its event or `.callFailed`.
/// - Each `.prepare` gets one `.prepared` and each `.publish` one `.published`, even if the item was suspended or
///   forgotten meanwhile.
/// - `sentAt` is read from the same clock after the action was returned.
/// - A suspended transfer ends only after `.resume`, unless it had ended already.
struct WorkerMachine: Sendable, Equatable {
    let settings: Settings
    var random: SplitMix64
    /// The latest time passed to the machine.
    var now: Duration = .zero
    var phase = Phase.created
    var stop: Stop?
    var lease = LeaseClock()

    var items: [LeaseKey: HeldItem] = [:]
    /// Items that the destination is preparing or publishing.
    var inDestination: Set<LeaseKey> = []
    /// Items of ``inDestination`` that the worker has given up. They are discarded when the destination answers.
    var abandoned: Set<LeaseKey> = []
    /// Staged files that wait for their preparation.
    var prepareQueue: [LeaseKey] = []
    /// Prepared files that wait for the gate, in the order of their arrival.
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
    /// Whether the answer of the gate call under way is too old to publish.
    var isGateVoid = false
    var reportsSent: [Report] = []
    /// Current maximum number of reports in one call.
    var reportLimit: Int
    /// Time of the queue's last answer.
    var answeredAt: Duration = .zero
    var stoppedAt: Duration = .zero

    var claims = ClaimState()
    var pace = Pace()
    var destination = DestinationState()
    /// End of each host's block, by the worker's clock.
    var blockedHosts: [Int32: Duration] = [:]
    var maintenance = MaintenanceState()

    /// Actions of the current event; empty between events.
    var actions: [WorkerAction] = []

    init(settings: Settings, seed: UInt64) {
        self.settings = settings
        reportLimit = settings.publishBatch
        random = SplitMix64(seed: seed)
    }

    /// Number of items that the worker holds, including those whose end is not reported yet.
    var heldCount: Int { items.count }
    var hasEnded: Bool { phase == .ended }

    /// Starts the registration. A second call changes nothing.
    mutating func start(at time: Duration) -> [WorkerAction] {
        guard phase == .created else { return [] }
        now = max(now, time)
        phase = .registering(settings.predecessor)
        proceed()
        return takeActions()
    }

    /// - Parameter time: the worker's clock now, not at the time of the event.
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

    /// Time when ``WorkerEvent/timer`` is due, by the worker's clock; `nil` if the machine waits for another event.
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

    /// Performs all steps that are due.
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
