import ArgumentParser
import CommandWords
import HaulFleet
import HaulKit

@main
struct HaulFleetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "haul-fleet",
        abstract: "Many machines download from one queue on PostgreSQL.",
        discussion: """
            Begin with init and add, and run work on each machine; status --watch shows how far it is.
            The database is --database, or HAUL_FLEET_DATABASE, or what libpq's variables say (PGHOST, PGSERVICE, …).
            Exit status: 0 done · 1 other failure · 2 the server of a set said no · 3 the database, the destination or the server of \
            a set cannot be reached · 4 disk · 5 the list of a set is not proved · 64 usage · 130 interrupted.
            """,
        version: Downloader.version,
        subcommands: [
            InitCommand.self, AddCommand.self, WorkCommand.self, WaitCommand.self, StatusCommand.self, ListCommand.self,
            RetryCommand.self, CancelCommand.self, ShardsCommand.self,
            PauseCommand.self, ResumeCommand.self, DrainCommand.self, HostCommand.self, ExportCommand.self,
            DeleteCommand.self,
        ]
    )

    static func main() async {
        Signals.ignoreThoseOfWrites()
        do {
            try await perform(CommandWords().arguments)
        } catch let error as DownloadError {
            FleetOutput.error(error.message)
            leave(FleetExitStatus(error).code)
        } catch let error as FleetError {
            FleetOutput.error(error.message)
            leave(FleetExitStatus(error).code)
        } catch {
            leave(error)
        }
        endDatabaseThreads()
    }

    private static func perform(_ arguments: [String]) async throws {
        guard !arguments.isEmpty else {
            // Fails, because a script whose arguments were lost must not succeed.
            FleetOutput.note(helpMessage())
            throw FleetExitStatus.usage.code
        }
        var command = try parseAsRoot(arguments)
        if var command = command as? any AsyncParsableCommand {
            try await command.run()
        } else {
            try command.run()
        }
    }

    private static func leave(_ error: any Error) -> Never {
        endDatabaseThreads()
        exit(maskingSecretsOf: error)
    }

    /// Waits for threads that close their connections. A thread that waits for a name server may take longer, and has
    /// no connection that its process could free too early.
    private static func endDatabaseThreads() { DatabaseThreads.ofProcess.end(within: .seconds(5)) }
}
