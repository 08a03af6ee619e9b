/// The first line of a trace.
struct TraceHeader: Sendable, Equatable, Codable {
    /// Version of the format. A reader refuses any other.
    var haulTrace = 1
    /// Version of Haul that recorded the trace.
    var version = Downloader.version
}

/// A line after the first one: a new machine, or an event with the actions that the machine returned.
struct TraceLine: Sendable, Equatable, Codable {
    var id: DownloadID
    /// New machine of a download that was loaded.
    var machine: DownloadMachine.Initial?
    var step: Step?

    /// One call of ``DownloadMachine/handle(_:at:in:)``.
    struct Step: Sendable, Equatable, Codable {
        var at: Instant
        var event: DownloadMachine.Event
        var surroundings: DownloadMachine.Surroundings?
        var actions: [DownloadMachine.Action]
    }
}

extension DownloadMachine {
    /// Initial values of a machine. Machines with equal initial values are equal.
    struct Initial: Sendable, Equatable, Codable {
        var settings: Settings
        var state: State
        var resource: Resource?
        var persisted: PersistedRanges
        var hold: HoldReason?
        var seed: UInt64
        var isFromReplacedSource: Bool
    }

    init(_ initial: Initial) {
        self.init(
            initial.settings,
            state: initial.state,
            resource: initial.resource,
            persisted: initial.persisted,
            hold: initial.hold,
            seed: initial.seed,
            isFromReplacedSource: initial.isFromReplacedSource
        )
    }

    /// Initial values of this machine. Valid only before its first event.
    var initial: Initial {
        Initial(
            settings: settings,
            state: state,
            resource: resource,
            persisted: persisted,
            hold: hold,
            seed: seed,
            isFromReplacedSource: isFromReplacedSource
        )
    }
}
