import ArgumentParser
import Foundation
import HaulFleet

struct ShardsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "shards",
        abstract: "List the complete shards with their digests.",
        discussion: """
            Each line is one of sha256sum, which proves the shards: haul-fleet shards | sha256sum -c. A file named like a \
            shard that is not listed is not complete: its worker ended before the queue knew of it, and another worker \
            removes it. export names shard and offset of each item.
            """
    )

    @OptionGroup var queue: FleetOptions

    @Flag(help: "Print JSON lines with items and bytes.")
    var json = false

    func run() async throws {
        let fleet = try queue.fleet()
        try await fleet.withConnection { connection in
            for shard in try await QueueAdministration(connection, fleet.queue).shards() {
                FleetOutput.line(json ? try JSONText.text(shard) : "\(shard.sha256)  \(shard.name)")
            }
        }
    }
}
