/// The first line of a trace.
package struct TraceHeader: Sendable, Equatable, Codable {
    /// Version of the format. A reader refuses any other.
    package var haulTrace = 1
    /// Version of Haul that recorded the trace.
    package var version = HaulVersion.text

    package init() {}
}

/// A line after the first one: a new machine, or an event with the actions that the machine returned.
package struct TraceLine: Sendable, Equatable, Codable {
    package var id: DownloadID
    /// Initial values of the machine of a download that was just loaded; `nil` on a line with a step.
    package var machine: DownloadMachine.Initial?
    package var step: Step?

    package init(id: DownloadID, machine: DownloadMachine.Initial? = nil, step: Step? = nil) {
        self.id = id
        self.machine = machine
        self.step = step
    }

    /// One call of ``DownloadMachine/handle(_:at:in:)``.
    package struct Step: Sendable, Equatable, Codable {
        package var at: Instant
        package var event: DownloadMachine.Event
        package var surroundings: DownloadMachine.Surroundings?
        package var actions: [DownloadMachine.Action]

        package init(
            at: Instant,
            event: DownloadMachine.Event,
            surroundings: DownloadMachine.Surroundings? = nil,
            actions: [DownloadMachine.Action]
        ) {
            self.at = at
            self.event = event
            self.surroundings = surroundings
            self.actions = actions
        }
    }
}

extension DownloadMachine {
    /// Initial values of a machine. Machines with equal initial values are equal.
    package struct Initial: Sendable, Equatable, Codable {
        package var settings: Settings
        package var state: State
        package var resource: Resource?
        package var persisted: PersistedRanges
        package var hold: HoldReason?
        package var seed: UInt64
        package var isFromReplacedSource: Bool
    }

    package init(_ initial: Initial) {
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
    package var initial: Initial {
        Initial(
            settings: settings,
            state: state,
            resource: resource,
            persisted: persisted,
            hold: hold,
            seed: seed,
            isFromReplacedSource: joining.isFromReplacedSource
        )
    }
}
