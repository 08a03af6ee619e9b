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

    @Flag(help: "Show it again every two seconds, until Ctrl-C.")
    var watch = false

    @Option(help: "Hosts that are shown.")
    var hosts = 10

    func run() async throws {
        let fleet = try queue.fleet()
        try await fleet.withConnection { connection in
            let administration = QueueAdministration(connection, fleet.queue)
            if watch { Signals.stop { _exit(0) } }
            repeat {
                let status = try await administration.status(hosts: max(0, hosts))
                if json {
                    FleetOutput.line(try JSONText.text(status, isPretty: !watch))
                } else {
                    if watch, FleetOutput.showsScreens { FleetOutput.clear() }
                    FleetOutput.line(StatusText(status).text)
                }
                if watch { try await Task.sleep(for: .seconds(2)) }
            } while watch
        }
    }
}
