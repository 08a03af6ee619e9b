import ArgumentParser
import HaulFleet
import HaulKit

struct PauseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Give out nothing new; what runs is finished."
    )

    @OptionGroup var queue: FleetOptions

    func run() async throws {
        try await queue.administer { try await $0.pause() }
        FleetOutput.line("Paused: workers finish what they hold. `haul-fleet resume` continues.")
    }
}

struct DrainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "drain",
        abstract: "Give out nothing new; workers finish what they hold, and end."
    )

    @OptionGroup var queue: FleetOptions

    func run() async throws {
        try await queue.administer { try await $0.drain() }
        FleetOutput.line("Draining: workers finish what they hold, and end. `haul-fleet resume` lets new ones work.")
    }
}

struct ResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Give out items again, after pause or drain."
    )

    @OptionGroup var queue: FleetOptions

    func run() async throws {
        try await queue.administer { try await $0.resume() }
        FleetOutput.line("Resumed.")
    }
}

struct DeleteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Delete a queue with its items and results; the files stay."
    )

    @OptionGroup var queue: FleetOptions

    @Flag(help: "Delete it. Without this, it is only said what would be deleted.")
    var yes = false

    func run() async throws {
        try await queue.administer { administration in
            let totals = try await administration.status(hosts: 0).totals
            let rest = [totals.unfed, totals.ready, totals.later, totals.leased].reduce(Int64(0)) {
                $0.addingClamped($1)
            }
            let cancelled = totals.cancelled > 0 ? "\(totals.cancelled) cancelled, " : ""
            let text =
                "\(totals.items) items: \(totals.completed) completed, \(totals.failed) failed, \(cancelled)\(rest) not done"
            guard yes else {
                FleetOutput.line("The queue has \(text). Run it again with --yes to delete the queue; the files stay.")
                throw ExitCode.failure
            }
            try await administration.delete()
            FleetOutput.line("Deleted: \(text). The files stay.")
        }
    }
}

struct HostCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "host",
        abstract: "Limit the requests and connections of all workers to a host, pause it, or show the limits."
    )

    @OptionGroup var queue: FleetOptions

    @Argument(help: "The host, with its port where that is not the scheme's default.")
    var name: String

    @Option(help: "Least time between requests, in milliseconds; 0 for none.")
    var gap: Int32?

    @Option(help: "Largest number of connections; 0 for no limit.")
    var connections: Int32?

    @Flag(help: "Give out nothing of the host; what transfers is finished.")
    var pause = false

    @Flag(help: "End a pause.")
    var resume = false

    func validate() throws {
        if pause, resume { throw ValidationError("--pause and --resume exclude each other.") }
        guard (gap ?? 0) >= 0, (connections ?? 0) >= 0 else { throw ValidationError("Limits are at least 0.") }
    }

    func run() async throws {
        guard gap != nil || connections != nil || pause || resume else {
            return try await queue.administer { FleetOutput.line(StatusText.line(try await $0.host(name))) }
        }
        try await queue.administer { queue in
            if gap != nil || connections != nil {
                try await queue.setLimits(host: name, gap: gap.map { .milliseconds($0) }, maxConnections: connections)
            }
            if pause || resume { try await queue.setPaused(pause, host: name) }
        }
        FleetOutput.line(
            resume
                ? "Workers take items of it within a minute."
                : "Claims keep to it from now on; what workers transfer already is finished as it is."
        )
    }
}
