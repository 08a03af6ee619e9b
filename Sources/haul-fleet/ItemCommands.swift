import ArgumentParser
import Foundation
import HaulFleet
import HaulKit

struct ListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List items of one state."
    )

    @OptionGroup var queue: FleetOptions

    @Option(help: "unfed, ready, later, leased, completed, failed or cancelled.")
    var state = ItemState.failed

    @Option(help: "Only items of this host.")
    var host: String?

    @Option(help: "Only items that ended, or wait, with this kind of failure.")
    var kind: String?

    @Option(help: "Largest number of items.")
    var limit = 100

    @Option(help: "Only items behind this number, which is the first column.")
    var after: Int64 = 0

    @Flag(help: "A JSON object a line.")
    var json = false

    func validate() throws {
        if limit < 1 { throw ValidationError("--limit is at least 1.") }
        if after < 0 { throw ValidationError("--after is the number of an item, or 0.") }
    }

    func run() async throws {
        let fleet = try queue.fleet()
        try await fleet.withConnection { connection in
            let filter = QueueAdministration.ItemFilter(
                state,
                host: host.map { HostName(typed: $0)?.text ?? $0.lowercased() },
                failureKind: kind
            )
            for item in try await QueueAdministration(connection, fleet.queue).list(filter, limit: limit, after: after)
            {
                var item = item
                // Masks passwords of URLs, because only the hosts should see them. `export` keeps the passwords, so
                // that its output can be added again.
                item.url = URL(string: item.url)?.masked ?? item.url
                if item.key == nil || item.key?.contains("@") == true { item.key = nil }
                FleetOutput.line(json ? try JSONText.text(item) : Self.line(item))
            }
        }
    }

    private static func line(_ item: ListedItem) -> String {
        var parts = ["\(item.item)", FleetOutput.plain(item.path), FleetOutput.plain(item.url)]
        if let kind = item.failureKind { parts.append("\(kind): \(FleetOutput.plain(item.failureMessage ?? ""))") }
        return parts.joined(separator: "\t")
    }
}

struct RetryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Try failed items again, with all their attempts."
    )

    @OptionGroup var queue: FleetOptions

    @Option(help: "Only those with this kind of failure.")
    var kind: String?

    @Option(help: "Only those of this host.")
    var host: String?

    @Option(help: "Only the item with this number.")
    var item: Int64?

    func run() async throws {
        let fleet = try queue.fleet()
        let count = try await fleet.withConnection { connection in
            try await QueueAdministration(connection, fleet.queue)
                .retry(.init(kind: kind, host: host.map { HostName(typed: $0)?.text ?? $0.lowercased() }, item: item))
        }
        FleetOutput.line("\(count) to be tried again.")
    }
}

struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write results as JSON lines or CSV.",
        discussion: "In the order of the items' numbers: --after with the last one continues an export."
    )

    @OptionGroup var queue: FleetOptions

    @Option(help: "How it is written.")
    var format = QueueExport.Format.jsonLines

    @Option(help: "Only items behind this number.")
    var after: Int64 = 0

    @Option(name: .shortAndLong, help: "A new file, in place of standard output.")
    var output: String?

    func run() async throws {
        let fleet = try queue.fleet()
        let descriptor = output.map { open($0, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666) } ?? STDOUT_FILENO
        guard descriptor >= 0 else {
            throw FleetError(.disk, "\(output ?? "") cannot be made: \(String(cString: strerror(errno))).")
        }
        defer { if descriptor != STDOUT_FILENO { close(descriptor) } }
        do {
            try await fleet.withConnection { connection in
                for try await page in QueueExport(connection, fleet.queue, format: format, after: after) {
                    guard FleetOutput.write(page.bytes, to: descriptor) else {
                        let reason = String(cString: strerror(errno))
                        throw FleetError(.disk, "The export cannot be written: \(reason).")
                    }
                }
            }
        } catch {
            // Removes the truncated file, because it could be mistaken for a complete one.
            if let output { unlink(output) }
            throw error
        }
    }
}

extension ItemState: ExpressibleByArgument {}
extension QueueExport.Format: ExpressibleByArgument {}
