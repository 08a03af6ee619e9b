internal import DequeModule

/// Order of the work of a task: the machine handles one event after another, and the steps run one after another.
struct StepQueue {
    /// Number of steps that have not ended.
    private(set) var pending = 0
    /// The newest step. Each step waits for the one before it.
    private(set) var last: Task<Void, Never>?
    /// Events that arrived while another event was being handled.
    private var inbox: Deque<DownloadMachine.Event> = []
    private var isHandling = false
    /// Number of calls that wait until their change of the download is done and recorded.
    private var waitingCalls = 0

    /// Whether no step is pending.
    var isEmpty: Bool { pending == 0 }

    /// Whether a step, an event or a call is under way.
    var isBusy: Bool { pending > 0 || isHandling || waitingCalls > 0 }

    mutating func append(_ step: Task<Void, Never>) {
        last = step
        pending += 1
    }

    mutating func stepEnded() { pending -= 1 }

    /// Begins to handle `event`, or keeps it for ``next()`` while another event is being handled.
    ///
    /// - Returns: `false` if the event is kept.
    mutating func begin(_ event: DownloadMachine.Event) -> Bool {
        if isHandling {
            inbox.append(event)
            return false
        }
        isHandling = true
        return true
    }

    /// Returns the next kept event. Ends the handling if there is none.
    mutating func next() -> DownloadMachine.Event? {
        let event = inbox.popFirst()
        isHandling = event != nil
        return event
    }

    mutating func callBegan() { waitingCalls += 1 }
    mutating func callEnded() { waitingCalls -= 1 }
}
