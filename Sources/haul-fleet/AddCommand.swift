import ArgumentParser
import Foundation
import HaulFleet
import HaulKit

struct AddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Add a list of files, or a set, to the queue.",
        discussion: """
            JSON lines, CSV or TSV with the columns url, path, key, checksum, size, priority, mirrors, validator and metadata, or a URL a line. The same \
            list again adds nothing twice. Of a set, each file is added with its size and digest; HF_TOKEN is not stored, so workers \
            need their own.
            """
    )

    @OptionGroup var queue: FleetOptions

    @Option(
        name: [.short, .customLong("input-file")],
        help: "The list, which gzip or zstd may have compressed; - for standard input."
    )
    var input: String?

    @Option(help: "How the list is written: text, csv, tsv or jsonl. Default: by its ending.")
    var format: ListFormat?

    @Option(
        help: "Add the completed files of this other queue, to fetch those that have changed since.",
        transform: { try QueueName($0) }
    )
    var refresh: QueueName?

    @OptionGroup(title: "Sets") var sets: AddedSetOptions

    @Flag(help: "Skip lines that cannot be read and names that the destination cannot have, and say how many.")
    var skipInvalid = false

    @Flag(help: "Do not look for the items in the queue: they are new, or of a list that was added in the same form.")
    var unchecked = false

    @Flag(help: "Print no progress.")
    var quiet = false

    func validate() throws {
        guard [input != nil, sets.set != nil, refresh != nil].count(where: \.self) == 1 else {
            throw ValidationError("Name a list with --input-file, a set with --set, or a queue with --refresh.")
        }
        guard format == nil || input != nil else { throw ValidationError("--format is about --input-file.") }
    }

    func run() async throws {
        let fleet = try queue.fleet()
        if let input { try await addList(input, to: fleet) }
        if let set = sets.set { try await addSet(set, to: fleet) }
        if let refresh { try await addItems(of: refresh, to: fleet) }
    }

    private func addItems(of earlier: QueueName, to fleet: Fleet) async throws {
        let result = try await fleet.withConnection { connection in
            let destination = try await QueueAdministration(connection, fleet.queue).settings().destination
            let earlierDestination: String?
            do {
                earlierDestination = try await QueueAdministration(connection, earlier).settings().destination
            } catch let error as FleetError where error.code == .databaseRefused {
                throw FleetError(.databaseRefused, "The queue \(earlier) of --refresh cannot be read: \(error.message)")
            }
            guard earlierDestination != destination else {
                throw FleetError(
                    .invalidInput,
                    "The queue \(earlier) has the same destination, where files that have changed would find their names taken: name another one with `haul-fleet init --to`."
                )
            }
            return try await load(QueueItems(connection, earlier), into: fleet)
        }
        FleetOutput.line(Self.text(result) + ".")
    }

    private func addList(_ input: String, to fleet: Fleet) async throws {
        let file = try ListFile(input)
        defer { file.end() }
        let destination = try await fleet.withConnection { connection in
            try await QueueAdministration(connection, fleet.queue).settings().destination
        }
        let list = ListReader(
            descriptor: file.descriptor,
            format: format ?? ListFormat(path: input),
            name: input == "-" ? "standard input" : input,
            rule: PathRule(destination: destination),
            skipsInvalid: skipInvalid,
            checkEnd: file.checkEnd
        )
        var text = Self.text(try await load(list, into: fleet))
        if let invalid = list.invalidLines, invalid.count > 0 {
            text += ", \(invalid.count) lines skipped"
            for line in invalid.first { FleetOutput.note(line) }
        }
        FleetOutput.line(text + ".")
    }

    private func addSet(_ source: String, to fleet: Fleet) async throws {
        let set = try await sets.files(of: source)
        let items = try SetItems(set.files, of: set.origin, folder: sets.under)
        let refused = set.refused.map { "\($0.name): \($0.reason)" } + items.refused
        for sentence in refused.prefix(Self.shownRefusals) { FleetOutput.note(FleetOutput.plain(sentence)) }
        guard refused.isEmpty || skipInvalid else {
            throw FleetError(
                .invalidInput,
                "Names of the set that cannot be used: \(refused.count). Nothing was added."
            )
        }
        for remark in set.remarks { FleetOutput.note(FleetOutput.plain(remark)) }
        let unproved = set.files.count { $0.checksum?.algorithm.provesFiles != true }
        if unproved > 0 {
            FleetOutput.note("Files without a digest, or with MD5 alone, which nothing proves: \(unproved).")
        }
        var text = Self.text(try await load(items.stream, into: fleet))
        if !refused.isEmpty { text += ", \(refused.count) names skipped" }
        FleetOutput.line("\(text): \(FleetOutput.plain(set.origin)).")
    }

    private static let shownRefusals = 10

    private func load<Items: AsyncSequence & Sendable>(_ items: Items, into fleet: Fleet) async throws
        -> QueueLoader.Result where Items.Element == NewItem
    {
        let showsProgress = !quiet && FleetOutput.isTerminal
        let result = try await fleet.withConnection { connection in
            try await QueueLoader(connection, fleet.queue, checksKeys: !unchecked).add(items) { result in
                if showsProgress { FleetOutput.progress("\(result.added) added") }
            }
        }
        if showsProgress { FleetOutput.progress("") }
        return result
    }

    private static func text(_ result: QueueLoader.Result) -> String {
        let text = "\(result.added) added"
        return result.present > 0 ? text + ", \(result.present) were in the queue or in the list before" : text
    }
}

extension ListFormat: ExpressibleByArgument {}
