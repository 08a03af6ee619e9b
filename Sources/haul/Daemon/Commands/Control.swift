import ArgumentParser
import Foundation
import HaulKit
import HaulServer
import NIOHTTP1

/// The common parts of `haul pause`, `resume`, `cancel` and `remove`.
private enum Control {
    struct Answer: Decodable {
        struct Failure: Decodable {
            var id: DownloadID
            var error: Problem
        }
        var changed: Int
        var keptFiles: Int?
        var errors: [Failure]
    }

    /// - Parameter verb: past participle for the note, such as `Paused`.
    static func run(
        _ actions: [String],
        _ verb: String,
        _ selection: SelectionOptions,
        _ client: DaemonClient,
        isQuiet: Bool,
        _ more: [String: JSONValue] = [:]
    ) async throws {
        var fields = try await selection.fields(client).merging(more) { $1 }
        var changed = 0
        var failures: [Answer.Failure] = []
        for action in actions {
            fields["action"] = .string(action)
            let answer: Answer = try await client.value(.POST, "/api/v1/downloads/actions", fields)
            changed = changed.addingClamped(answer.changed)
            failures = answer.errors
            if let kept = answer.keptFiles {
                Output.error(
                    kept == 1
                        ? "1 file was changed or replaced since, and stays."
                        : "\(kept) files were changed or replaced since, and stay."
                )
            }
        }
        for failure in failures { Output.error("\(failure.id.short): \(Complaint(failure.error).sentence)") }
        if !isQuiet, changed > 0 || failures.isEmpty {
            Output.note("\(verb) \(changed == 0 ? "nothing" : changed == 1 ? "1 download" : "\(changed) downloads").")
        }
        if let first = failures.first { throw ExitStatus(problemCode: first.error.code).code }
    }

    /// Asks before a filter deletes downloads. Asks only on a terminal, where somebody can answer.
    static func confirm(_ verb: String, _ selection: SelectionOptions, _ client: DaemonClient) async throws {
        guard selection.isFilter, isatty(STDIN_FILENO) == 1, isatty(STDERR_FILENO) == 1 else { return }
        let count = try await selection.count(client)
        guard count > 0 else { return }
        Output.write("\(verb) \(count == 1 ? "1 download" : "\(count) downloads")? [y/N] ")
        let answer = readLine()?.trimmingCharacters(in: .whitespaces).lowercased()
        guard answer == "y" || answer == "yes" else { throw Complaint("Nothing was changed.", .otherFailure) }
    }
}

struct Pause: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Pauses downloads of the daemon. Their bytes are kept.")

    @OptionGroup var selection: SelectionOptions
    @Flag(name: [.short, .long], help: "Print only errors.") var quiet = false
    @OptionGroup var daemon: DaemonOptions

    func run() async throws {
        try await daemon.run { try await Control.run(["pause"], "Paused", selection, $0, isQuiet: quiet) }
    }
}

struct Resume: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Resumes paused downloads of the daemon, and tries failed ones again."
    )

    @OptionGroup var selection: SelectionOptions
    @Flag(name: [.short, .long], help: "Print only errors.") var quiet = false
    @OptionGroup var daemon: DaemonOptions

    func run() async throws {
        try await daemon.run { try await Control.run(["resume", "retry"], "Resumed", selection, $0, isQuiet: quiet) }
    }
}

struct Cancel: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Cancels downloads of the daemon: their bytes are deleted.",
        discussion: "Complete downloads do not change. On a terminal it asks before it cancels all, a group or a state."
    )

    @OptionGroup var selection: SelectionOptions
    @Flag(name: [.short, .long], help: "Do not ask.") var yes = false
    @Flag(name: [.short, .long], help: "Print only errors.") var quiet = false
    @OptionGroup var daemon: DaemonOptions

    func run() async throws {
        try await daemon.run { client in
            if !yes { try await Control.confirm("Cancel", selection, client) }
            try await Control.run(["cancel"], "Cancelled", selection, client, isQuiet: quiet)
        }
    }
}

struct Remove: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Removes downloads from the list of the daemon.",
        discussion: """
            Complete files stay, unless --file is given; the bytes of unfinished downloads are deleted. On a terminal it \
            asks before it removes all, a group or a state.
            """
    )

    @OptionGroup var selection: SelectionOptions
    @Flag(help: "Delete complete files too, if they are unchanged.") var file = false
    @Flag(name: [.short, .long], help: "Do not ask.") var yes = false
    @Flag(name: [.short, .long], help: "Print only errors.") var quiet = false
    @OptionGroup var daemon: DaemonOptions

    func run() async throws {
        try await daemon.run { client in
            if !yes { try await Control.confirm(file ? "Remove, with the files," : "Remove", selection, client) }
            try await Control.run(
                ["remove"],
                "Removed",
                selection,
                client,
                isQuiet: quiet,
                file ? ["deleteFiles": true] : [:]
            )
        }
    }
}

struct Move: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Moves downloads in the queue of the daemon, in the order in which they are named."
    )

    enum End: String, ExpressibleByArgument, CaseIterable {
        case first, last
    }

    @Argument(help: "Id of a download, or at least four characters of its end or beginning.")
    var ids: [String]

    @Option(help: "To the beginning or the end of the queue: first or last.") var to: End?
    @Option(help: "Before this download.") var before: String?
    @Option(help: "Behind this download.") var after: String?
    @OptionGroup var daemon: DaemonOptions

    func validate() throws {
        guard [to != nil, before != nil, after != nil].filter({ $0 }).count == 1 else {
            throw ValidationError("Name one of --to, --before and --after.")
        }
    }

    func run() async throws {
        try await daemon.run { client in
            var fields: [String: JSONValue] = [
                "ids": .array(try await client.ids(ids).map { .string($0.description) })
            ]
            if let to { fields["to"] = .string(to.rawValue) }
            if let before { fields["before"] = .string(try await client.id(before).description) }
            if let after { fields["after"] = .string(try await client.id(after).description) }
            try await client.send(.POST, "/api/v1/downloads/move", fields)
        }
    }
}
