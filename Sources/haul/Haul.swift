import ArgumentParser
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
        subcommands: [Get.self, Verify.self, RepairCommand.self],
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
        if let words = Aria2Command.words(CommandLine.arguments) { await Aria2Command.main(words) }
        do {
            var command = try await parsed()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
            leave(with: nil)
        } catch { leave(with: error) }
    }

    /// `haul get` is read without the tree of all commands, which takes longer to build than a small file to download.
    private static func parsed() async throws -> any ParsableCommand {
        let arguments = CommandLine.arguments.dropFirst()
        // Help, and what is wrong with arguments, come from the tree.
        if arguments.first == "get", let get = try? Get.parseAsRoot(Array(arguments.dropFirst())) { return get }
        return try await asyncParseAsRoot()
    }

    /// Ends the process after its output has been written.
    private static func leave(with error: (any Error)?) -> Never {
        if !Output.finish() { Foundation.exit(ExitStatus.interrupted.rawValue) }
        exit(withError: error)
    }
}
