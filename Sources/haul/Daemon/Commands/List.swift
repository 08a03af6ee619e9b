import ArgumentParser
import Foundation
import HaulKit
import HaulServer
import NIOHTTP1

struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lists the downloads of the daemon.",
        discussion: "Downloads are named by the end of their id; other commands take it in place of the whole id."
    )

    enum Order: String, ExpressibleByArgument, CaseIterable {
        case added, queue, ended, name, size, speed, left
    }

    @Option(help: "Downloads in this state: \(SelectionOptions.states). Repeatable.")
    var state: [DownloadSnapshot.State] = []

    @Option(help: "Downloads of this group.")
    var group: String?

    @Option(help: "Downloads with this text in URL, name or path.")
    var search: String?

    @Option(help: "Order: added, queue, ended, name, size, speed or left (time).")
    var sort = Order.added

    @Flag(help: "The other way round.")
    var reverse = false

    @Option(help: "Largest number of downloads to list.")
    var limit: Int?

    @Flag(name: [.short, .long], help: "Print ids alone.")
    var quiet = false

    @Flag(help: "Print one JSON object per line.")
    var json = false

    @OptionGroup var daemon: DaemonOptions

    func validate() throws {
        if let limit, limit < 1 { throw ValidationError("--limit takes a number above 0.") }
        if quiet, json { throw ValidationError("Name either --quiet or --json.") }
    }

    func run() async throws {
        try await daemon.run { client in
            let query: [(String, String?)] = [
                ("state", state.isEmpty ? nil : state.map(\.rawValue).joined(separator: ",")), ("group", group),
                ("text", search), ("sort", sort.rawValue), ("order", reverse ? "desc" : nil),
            ]
            let isTerminal = isatty(STDOUT_FILENO) == 1
            let table = DownloadTable(columns: isTerminal ? Terminal.size.columns : nil)
            var isFirst = true
            try await client.pages(query, limit: limit) { rows in
                for row in rows {
                    if quiet {
                        Output.result(row.id.description)
                    } else if json {
                        JSONLine.print(row)
                    } else {
                        if isFirst, isTerminal { Output.result(table.head) }
                        Output.result(table.line(row))
                    }
                    isFirst = false
                }
                // Stops if the reader of the output, such as `head`, has exited.
                return !Output.hasLostReader
            }
            // Prints the notice on standard error, because a script that reads the list does not expect it.
            if !quiet, let notice = try await client.identity().storeNotice { Output.error(notice) }
            if isFirst, isTerminal, !quiet, !json { Output.note("There are no such downloads.") }
        }
    }
}

/// Prints values of the API on standard output, one JSON object per line.
enum JSONLine {
    static func print(_ value: some Encodable, _ importance: OutputQueue.Importance = .end, of id: String? = nil) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Encoding cannot fail, because values of the API have only strings and finite numbers.
        guard let data = try? encoder.encode(value) else { return }
        Output.result(JSONDisplay.escapingControls(String(decoding: data, as: UTF8.self)), importance, of: id)
    }
}
