/// Makes all decisions of a worker without side effects: takes events and returns actions.
///
/// `now` is the worker's own clock. The clock never steps and counts the time in which the computer sleeps
/// (`CLOCK_BOOTTIME`), but may run at another rate than the database's clock. The machine checks the elapsed time
/// before it handles an event, so a process that was stopped for an hour publishes no file under its old leases.
///
/// Contract with the caller that performs the actions, for example ``FleetWorker``:
/// - Each `.call` gets one answer: its event or `.callFailed`.
/// - Each `.prepare` gets one `.prepared` and each `.publish` one `.published`, even if the item was suspended or
///   forgotten meanwhile.
/// - `sentAt` is read from the same clock after the action was returned.
/// - A suspended transfer ends only after `.resume`, unless it had ended already.
///
/// `WorkerMachine+Events.swift` takes the events and calls the other files. The calls among these other files form no
/// cycle. All files may call the steps of `WorkerMachine+Items.swift` and of this file.
struct WorkerMachine: Sendable, Equatable {
    let settings: Settings
    /// The latest time passed to the machine.
    private(set) var now: Duration = .zero
    private(set) var phase = Phase.created
    /// Actions of the current event; empty between events.
    private var actions: [WorkerAction] = []

    var delays: RandomDelays
    var stop = StopRequest()
    var lease = LeaseClock()
    var calls = QueueCalls()
    var items = HeldItems()
    var reports: ReportQueue
    var claims = ClaimHistory()
    var destination = DestinationHealth()
    var maintenance = MaintenanceHistory()
    var hostBlocks = HostBlocks()
    /// Number of shards that the destination is writing or publishing.
    var shardsInWork = 0

    init(settings: Settings, seed: UInt64) {
        self.settings = settings
        reports = ReportQueue(most: settings.publishBatch)
        delays = RandomDelays(seed: seed)
    }

    /// Number of items that the worker holds, including those whose end is not reported yet.
    var heldCount: Int { items.count }
    var hasEnded: Bool { phase == .ended }

    // MARK: Steps

    mutating func advanceClock(to time: Duration) { now = max(now, time) }

    mutating func enter(_ phase: Phase) { self.phase = phase }

    mutating func request(_ action: WorkerAction) { actions.append(action) }

    mutating func send(_ call: WorkerCall) {
        calls.began(call, at: now)
        request(.call(call))
    }

    /// Returns the actions of the current event.
    mutating func takeActions() -> [WorkerAction] {
        defer { actions = [] }
        return actions
    }
}
