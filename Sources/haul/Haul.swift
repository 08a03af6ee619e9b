import ArgumentParser
import CommandWords
import Foundation
import HaulKit

@main
struct Haul: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "haul",
        abstract: "Turns URLs into complete, verified files.",
        discussion: """
            To resume an interrupted download, run the same command again.

            haul aria2c, or a link of that name to haul, takes aria2's command line.

            Exit status: 0 all complete, 1 other failure, 2 refused by the server, 3 network, 4 disk, 5 checksum, \
            6 the file exists, 7 in use by another process, 64 usage, 130 interrupted.
            """,
        version: "haul \(Downloader.version)",
        subcommands: [Get.self, Sync.self, Verify.self, RepairCommand.self],
        groupedSubcommands: [
            CommandGroup(
                name: "Daemon",
                subcommands: [
                    Serve.self, Add.self, List.self, Show.self, Pause.self, Resume.self, Cancel.self, Remove.self,
                    Move.self, Watch.self, ConfigCommand.self, Open.self,
                    ServiceCommand.self,
                ]
            )
        ]
    )

    static func main() async {
        StandardStreams.prepare()
        Interruption.watch()
        let words: CommandWords
        do throws(DownloadError) { words = try CommandWords() } catch {
            Output.error(error.message)
            leave(with: ExitStatus.usage.code)
        }
        if let words = Aria2Command.words([words.program] + words.arguments) { await Aria2Command.main(words) }
        do {
            if let get = get(words.arguments) {
                try await get.run()
                leave(with: nil)
            }
            var command = try await parsed(words.arguments)
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
            leave(with: nil)
        } catch { leave(with: error) }
    }

    /// Parses `haul get` without the tree of all commands, because building the tree takes longer than downloading a
    /// small file.
    ///
    /// Does not cast to a protocol: such a cast searches all conformances of the program.
    ///
    /// - Returns: `nil` for other commands, for `--help` and for wrong arguments: the tree prints help and errors.
    private static func get(_ arguments: [String]) -> Get? {
        guard arguments.first == "get" else { return nil }
        let runs = LongRuns(Array(arguments.dropFirst()))
        // The tree parses the same arguments again, and prints the error.
        guard var get = try? Get.parseAsRoot(runs.arguments) as? Get else { return nil }
        get.urls = runs.unfolded(get.urls)
        return get
    }

    private static func parsed(_ arguments: [String]) async throws -> any ParsableCommand {
        guard let name = arguments.first else {
            // Without arguments the status is an error, because a script may have lost its arguments.
            Output.write(helpMessage() + "\n")
            throw ExitStatus.usage.code
        }
        guard takesManyWords.contains(name) else { return try await asyncParseAsRoot(arguments) }
        let runs = LongRuns(Array(arguments.dropFirst()))
        let command = try await asyncParseAsRoot([name] + runs.arguments)
        guard var many = command as? any TakesManyWords else { return command }
        many.words = runs.unfolded(many.words)
        return many
    }

    private static let takesManyWords: Set = ["get", "add", "pause", "resume", "cancel", "remove", "move"]

    /// Ends the process after its output has been written.
    private static func leave(with error: (any Error)?) -> Never {
        if !Output.finish() { Foundation.exit(ExitStatus.interrupted.rawValue) }
        if error == nil, Output.isIncomplete { Foundation.exit(ExitStatus.disk.rawValue) }
        exit(maskingSecretsOf: error)
    }
}

/// A command that may have very many arguments. ``LongRuns`` folds them for the parser.
protocol TakesManyWords: ParsableCommand {
    /// The positional arguments.
    var words: [String] { get set }
}

extension Get: TakesManyWords {
    var words: [String] {
        get { urls }
        set { urls = newValue }
    }
}

extension Add: TakesManyWords {
    var words: [String] {
        get { urls }
        set { urls = newValue }
    }
}

extension Move: TakesManyWords {
    var words: [String] {
        get { ids }
        set { ids = newValue }
    }
}

/// A command for the downloads that ``SelectionOptions`` names.
protocol SelectsDownloads: TakesManyWords {
    var selection: SelectionOptions { get set }
}

extension SelectsDownloads {
    var words: [String] {
        get { selection.ids }
        set { selection.ids = newValue }
    }
}

extension Pause: SelectsDownloads {}
extension Resume: SelectsDownloads {}
extension Cancel: SelectsDownloads {}
extension Remove: SelectsDownloads {}
