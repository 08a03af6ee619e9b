import ArgumentParser
import HaulFleet

struct WaitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wait",
        abstract: "Wait until the queue has nothing left; ends with 1 if items have failed.",
        discussion: "For what comes after a queue: haul-fleet wait && NEXT-COMMAND."
    )

    @OptionGroup var queue: FleetOptions

    @Flag(help: "End with 0 although items have failed.")
    var allowFailed = false

    func run() async throws {
        let fleet = try queue.fleet()
        var isUnreachable = false
        while true {
            do {
                let isDrained = try await fleet.withConnection { connection in
                    try await QueueAdministration(connection, fleet.queue).isDrained()
                }
                if isDrained { break }
                isUnreachable = false
            } catch let error as FleetError where error.code == .databaseUnreachable {
                if !isUnreachable { FleetOutput.error(error.message + " Waiting for it.") }
                isUnreachable = true
            }
            try await Task.sleep(for: .seconds(2))
        }
        if !allowFailed { try await Self.checkFailures(of: fleet) }
    }

    /// - Throws: an exit status, if items of the queue have failed, whichever worker had them.
    static func checkFailures(of fleet: Fleet) async throws {
        let failed = try await fleet.withConnection { connection in
            try await QueueAdministration(connection, fleet.queue).failedItems()
        }
        guard failed > 0 else { return }
        FleetOutput.error(
            "\(failed) \(failed == 1 ? "item has" : "items have") failed: haul-fleet list --state failed names them."
        )
        throw FleetExitStatus.otherFailure.code
    }
}
