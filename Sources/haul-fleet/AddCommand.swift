import ArgumentParser
import Foundation
import HaulFleet

struct AddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Add a list of files to the queue.",
        discussion: """
            JSON lines, CSV or TSV with the columns url, path, key, checksum, size, priority and metadata, or a URL a line. The same \
            list again adds nothing twice.
            """
    )

    @OptionGroup var queue: FleetOptions

    @Option(name: [.short, .customLong("input-file")], help: "The list; - for standard input.")
    var input: String

    @Option(help: "How the list is written: text, csv, tsv or jsonl. Default: by its ending.")
    var format: ListFormat?

    @Flag(help: "Skip lines that cannot be read, and say how many.")
    var skipInvalid = false

    @Flag(help: "Print no progress.")
    var quiet = false

    func run() async throws {
        let fleet = try queue.fleet()
        let descriptor = input == "-" ? STDIN_FILENO : open(input, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw FleetError(.invalidInput, "\(input) cannot be opened: \(String(cString: strerror(errno))).")
        }
        defer { if descriptor != STDIN_FILENO { close(descriptor) } }
        let list = ListReader(
            descriptor: descriptor,
            format: format ?? ListFormat(path: input),
            name: input == "-" ? "standard input" : input,
            skipsInvalid: skipInvalid
        )
        let showsProgress = !quiet && FleetOutput.isTerminal
        let result = try await fleet.withConnection { connection in
            try await QueueLoader(connection, fleet.queue).add(list) { result in
                if showsProgress { FleetOutput.progress("\(result.added) added") }
            }
        }
        if showsProgress { FleetOutput.progress("") }
        var text = "\(result.added) added"
        if result.present > 0 { text += ", \(result.present) were in the queue or in the list before" }
        if let invalid = list.invalidLines, invalid.count > 0 {
            text += ", \(invalid.count) lines skipped"
            for line in invalid.first { FleetOutput.note(line) }
        }
        FleetOutput.line(text + ".")
    }
}

extension ListFormat: ExpressibleByArgument {}
