import ArgumentParser
import Foundation
import HaulKit
import HaulServer

/// Options that choose the daemon of a command.
struct DaemonOptions: ParsableArguments {
    @Option(
        help: "Unix socket of the daemon (default: that of the daemon with this state folder).",
        completion: .file()
    )
    var socket: String?

    @OptionGroup var state: StateOptions

    /// Finds the daemon by option, environment and file, as `haul serve` finds its own settings.
    ///
    /// - Throws: ``Complaint`` if no daemon answers.
    func client() async throws -> DaemonClient {
        if let socket = socket ?? ProcessInfo.processInfo.environment["HAUL_SOCKET"] {
            // A named socket chooses the daemon. The state folder of that daemon is checked only if `--state-dir` is
            // given too.
            let folder = try state.stateDir.map { try FilePaths.absolute($0) + "/daemon" }
            return try await DaemonClient.connected(try FilePaths.absolute(socket), stateFolder: folder)
        }
        let arguments = state.stateDir.map { ["--state-dir", $0] } ?? []
        let settings = try await ServeSettings.read(try ServeOptions.parse(arguments)).server
        let folder = settings.stateFolder
        guard let path = DaemonLock.endpoint(folder)?.socket ?? settings.socketPath else {
            throw Complaint("The daemon has no socket.", .otherFailure)
        }
        do { return try await DaemonClient.connected(path, stateFolder: folder) } catch {
            // Tries the service that the system runs for this user (haul@USER.service), unless a folder was named.
            let isFolderNamed = state.stateDir != nil || ProcessInfo.processInfo.environment["HAUL_STATE_DIR"] != nil
            guard !isFolderNamed, let service = DaemonClient.ofSystem() else { throw error }
            return service
        }
    }

    /// Runs a command and turns errors into sentences and exit statuses.
    func run(_ body: (DaemonClient) async throws -> Void) async throws {
        do { try await body(try await client()) } catch let complaint as Complaint {
            Output.error(complaint.sentence)
            throw complaint.status.code
        } catch let error as DownloadError {
            Output.error(ErrorAdvice.get(allowsGaps: false).text(error))
            throw ExitStatus(error).code
        }
    }
}
