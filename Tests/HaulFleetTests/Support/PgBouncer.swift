import Foundation
import HaulTesting

@testable import HaulFleet

/// Runs PgBouncer in transaction mode in front of a server.
final class PgBouncer: Sendable {
    let port: Int
    private let process: Int32
    private let folder: TemporaryFolder

    init(_ server: PostgresServer, poolSize: Int) async throws {
        let program = "/usr/sbin/pgbouncer"
        guard FileManager.default.isExecutableFile(atPath: program) else {
            throw PostgresServer.Failure(description: "PgBouncer is missing: make test-requirements installs it.")
        }
        (folder, port) = (try TemporaryFolder(), try PostgresServer.freePort())
        let configuration = """
            [databases]
            * = host=127.0.0.1 port=\(server.port)
            [pgbouncer]
            listen_addr = 127.0.0.1
            listen_port = \(port)
            unix_socket_dir =
            auth_type = any
            pool_mode = transaction
            default_pool_size = \(poolSize)
            max_client_conn = 200
            """
        // `auth_type = any` logs every client in as the user of the database line.
        let text = configuration.replacingOccurrences(
            of: "port=\(server.port)",
            with: "port=\(server.port) user=postgres"
        )
        try text.write(toFile: folder("bouncer.ini"), atomically: false, encoding: .utf8)
        let log = open(folder("log"), O_WRONLY | O_CREAT, 0o644)
        defer { close(log) }
        let isRoot = getuid() == 0
        if isRoot { try SystemCommand.run("chown", "-R", "postgres", folder.path) }
        let prefix = isRoot ? ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--"] : []
        process = try SystemCommand.start(prefix + [program, folder("bouncer.ini")], outputs: (log, log))
        let settings = try server.settings(port: port)
        try await waitUntil("PgBouncer answers") {
            let connection = DatabaseConnection(settings)
            defer { connection.close() }
            do { _ = try await connection.run("SELECT 1") } catch { return false }
            return true
        }
    }

    /// Whether the process runs, and what it has logged, for the message of a failed test.
    var account: String {
        let log = (try? String(contentsOfFile: folder("log"), encoding: .utf8)) ?? "no log"
        return "PgBouncer (process \(process)) \(kill(process, 0) == 0 ? "is there" : "is gone").\n\(log)"
    }

    deinit {
        kill(process, SIGKILL)
        _ = SystemCommand.end(of: process)
    }
}
