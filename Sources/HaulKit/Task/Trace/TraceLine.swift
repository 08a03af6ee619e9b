/// The first line of a trace.
struct TraceHeader: Sendable, Equatable, Codable {
    /// The version of the format; a reader refuses another.
    var haulTrace = 1
    /// The version of Haul that recorded the trace.
    var version = Downloader.version
}

/// A line of a trace after the first: a new machine, or an event with the actions that the machine returned for it.
struct TraceLine: Sendable, Equatable, Codable {
    var id: DownloadID
    /// The download was loaded: a new machine.
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
    /// What a machine is made of: two machines made of equal values are equal.
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

    /// What this machine was made of. Valid before its first event only.
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
