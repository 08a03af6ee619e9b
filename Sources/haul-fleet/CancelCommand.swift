import ArgumentParser
import HaulFleet

struct CancelCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "Cancel items that wait or run; retry --kind cancelled takes it back."
    )

    @OptionGroup var queue: FleetOptions

    @Option(help: "The items of this host.")
    var host: String?

    @Option(help: "The item with this number.")
    var item: Int64?

    @Flag(help: "All items that wait or run.")
    var all = false

    func validate() throws {
        if [host != nil, item != nil, all].count(where: { $0 }) != 1 {
            throw ValidationError("Name what is to be cancelled: --host, --item or --all.")
        }
    }

    private var items: QueueAdministration.CancelledItems {
        if let host { .host(host) } else if let item { .item(item) } else { .all }
    }

    func run() async throws {
        try await queue.administer { administration in
            let result = try await administration.cancel(items)
            FleetOutput.line("\(result.cancelled) cancelled.")
            if result.publishing > 0 {
                FleetOutput.line("\(result.publishing) are being published, and are completed by their workers.")
            }
        }
    }
}
