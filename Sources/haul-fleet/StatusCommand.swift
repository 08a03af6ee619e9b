import ArgumentParser
import Foundation
import HaulFleet

struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show totals, rate, workers, hosts and failures of the queue."
    )

    @OptionGroup var queue: FleetOptions

    @Flag(help: "One JSON object; with --watch one a line.")
    var json = false

    @Flag(help: "Metrics in the text format of Prometheus, also with a number to scale workers by.")
    var prometheus = false

    @Option(name: .shortAndLong, help: "A file to replace, in place of standard output.")
    var output: String?

    @Flag(help: "Show it again every two seconds, until Ctrl-C.")
    var watch = false

    @Option(help: "Hosts that are shown.")
    var hosts = 10

    func validate() throws {
        if json, prometheus { throw ValidationError("--json and --prometheus exclude each other.") }
    }

    func run() async throws {
        let fleet = try queue.fleet()
        try await fleet.withConnection { connection in
            let administration = QueueAdministration(connection, fleet.queue)
            if watch { Signals.stop { _exit(0) } }
            repeat {
                let status = try await administration.status(hosts: max(0, hosts))
                let text = try text(status)
                if let output {
                    try FleetOutput.replace(output, with: text)
                } else {
                    if watch, !json, !prometheus, FleetOutput.showsScreens { FleetOutput.clear() }
                    FleetOutput.line(text)
                }
                if watch { try await Task.sleep(for: .seconds(2)) }
            } while watch
        }
    }

    /// Returns the status without a line feed at the end.
    private func text(_ status: FleetStatus) throws -> String {
        if json { return try JSONText.text(status, isPretty: !watch) }
        return prometheus ? String(StatusMetrics.text(status).dropLast()) : StatusText(status).text
    }
}
