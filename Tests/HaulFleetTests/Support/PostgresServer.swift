import CLibPQ
import Foundation
import HaulTesting
import Synchronization

@testable import HaulFleet

/// Runs a PostgreSQL server on loopback in a temporary folder. The server ends with its last reference or with the
/// process.
final class PostgresServer: Sendable {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Returns the server that the suites share. A test that stops a server starts its own.
    static func shared() async throws -> PostgresServer { try await sharedServer.value }

    private static let sharedServer = Task { try await PostgresServer.start() }

    let folder: String
    let port: Int
    /// Folder with the programs of the newest installed version.
    let programs: String
    private let process = Mutex<Int32?>(nil)
    private let template = Mutex<Task<Void, any Error>?>(nil)

    private init(folder: String, port: Int, programs: String) {
        (self.folder, self.port, self.programs) = (folder, port, programs)
    }

    deinit {
        kill(SIGKILL)
        // Leftover files in the temporary folder fail no test.
        do { try FileManager.default.removeItem(atPath: folder) } catch { print("left behind: \(folder): \(error)") }
    }

    static func start(_ settings: [String: String] = [:]) async throws -> PostgresServer {
        let server = try await Task.detached { try make(settings) }.value
        try await server.start()
        return server
    }

    private static func make(_ settings: [String: String]) throws -> PostgresServer {
        let programs = try findPrograms()
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("haul-pg-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        if getuid() == 0 { try SystemCommand.run("chown", "postgres:postgres", folder) }
        let server = PostgresServer(folder: folder, port: try freePort(), programs: programs)
        try server.run(
            "initdb",
            "-D",
            server.data,
            "-A",
            "trust",
            "-U",
            "postgres",
            "--no-sync",
            "-E",
            "UTF8",
            "--locale=C"
        )
        try server.configure(settings)
        return server
    }

    /// Appends `settings` to the configuration. They take effect at the next start.
    func configure(_ settings: [String: String]) throws {
        let standard = [
            "listen_addresses": "'127.0.0.1'", "unix_socket_directories": "''", "port": "\(port)", "fsync": "off",
            "max_connections": "400", "shared_buffers": "'128MB'", "log_min_messages": "fatal",
        ]
        let lines = standard.merging(settings) { $1 }.map { "\($0) = \($1)" }.sorted()
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: data + "/postgresql.conf"))
        try handle.seekToEnd()
        try handle.write(contentsOf: Data(("\n" + lines.joined(separator: "\n") + "\n").utf8))
        try handle.close()
    }

    var data: String { folder + "/data" }

    /// Runs the programs as the user postgres, because PostgreSQL refuses to run as root.
    private static var prefix: [String] {
        getuid() == 0 ? ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--"] : []
    }

    /// Runs one of PostgreSQL's programs to its end.
    func run(_ program: String, _ arguments: String...) throws {
        try SystemCommand.run(Self.prefix + ["\(programs)/\(program)"] + arguments)
    }

    private static func findPrograms() throws -> String {
        let root = "/usr/lib/postgresql"
        let versions =
            FileManager.default.fileExists(atPath: root)
            ? try FileManager.default.contentsOfDirectory(atPath: root) : []
        let found = versions.compactMap { Int($0) }.sorted().last { version in
            FileManager.default.isExecutableFile(atPath: "\(root)/\(version)/bin/postgres")
        }
        guard let found else {
            throw Failure(description: "PostgreSQL is missing: make test-requirements installs it.")
        }
        return "\(root)/\(found)/bin"
    }

    static func freePort() throws -> Int {
        let socket = Foundation.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard socket >= 0 else { throw Failure(description: "no socket") }
        defer { close(socket) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, length) == 0 && getsockname(socket, $0, &length) == 0
            }
        }
        guard isBound else { throw Failure(description: "no free port") }
        return Int(UInt16(bigEndian: address.sin_port))
    }

    // MARK: Start and stop

    /// Starts the server and waits until it takes connections.
    func start() async throws {
        // The subshell polls the test process and the server. It stops the server and removes the folder when the test
        // process has ended for any reason, and exits when the server has ended.
        let script = """
            "$@" & server=$!
            (while kill -0 \(getpid()) && kill -0 $server; do sleep 0.5; done; kill -0 \(getpid()) || { kill -QUIT $server; sleep 1; rm -rf '\(folder)'; }) 2>/dev/null >/dev/null &
            echo $server > '\(folder)/pid'
            wait $server
            """
        let log = open(folder + "/log", O_WRONLY | O_CREAT | O_APPEND, 0o644)
        defer { close(log) }
        let words = ["sh", "-c", script, "sh"] + Self.prefix + ["\(programs)/postgres", "-D", data]
        try? FileManager.default.removeItem(atPath: folder + "/pid")
        let shell = try SystemCommand.start(words, outputs: (log, log))
        Thread.detachNewThread { _ = SystemCommand.end(of: shell) }
        try await waitUntil("the server has written its process id") { self.readProcess() != nil }
        process.withLock { $0 = readProcess() }
        try await waitUntil("PostgreSQL answers: see \(folder)/log") { self.isAnswering }
    }

    private func readProcess() -> Int32? {
        guard let text = try? String(contentsOfFile: folder + "/pid", encoding: .utf8) else { return nil }
        return text.hasSuffix("\n") ? Int32(text.dropLast()) : nil
    }

    var isAnswering: Bool { PQping("host=127.0.0.1 port=\(port) user=postgres dbname=postgres") == PQPING_OK }

    /// Sends a signal to the postmaster: SIGINT shuts it down in order, SIGQUIT as a crash.
    func kill(_ signal: Int32) {
        guard let process = process.withLock({ $0 }) else { return }
        Foundation.kill(process, signal)
        // The children notice the death of the postmaster and end by themselves.
        if signal == SIGKILL { self.process.withLock { $0 = nil } }
    }

    func stop(_ signal: Int32 = SIGINT) async throws {
        guard let process = process.withLock({ $0 }) else { return }
        let backends = Self.children(of: process)
        kill(signal)
        try await waitUntil("PostgreSQL has ended") { Foundation.kill(process, 0) != 0 }
        self.process.withLock { $0 = nil }
        // After SIGKILL the backends hold the shared memory for a moment and still answer received queries.
        try await waitUntil("its backends have ended") { backends.allSatisfy { Foundation.kill($0, 0) != 0 } }
        try await waitUntil("the port is free") { !self.isAnswering }
    }

    /// Returns the current children of `parent`.
    private static func children(of parent: Int32) -> [Int32] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap(Int32.init).filter { process in
            // A process that has ended meanwhile has no status file.
            let status = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
            return status?.contains("\nPPid:\t\(parent)\n") == true
        }
    }

    func restart(_ signal: Int32 = SIGINT) async throws {
        try await stop(signal)
        try await start()
    }

    // MARK: Standby

    /// Returns a standby with the commits up to now. The standby receives no later commits.
    func makeStandby() async throws -> PostgresServer {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("haul-pg-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        if getuid() == 0 { try SystemCommand.run("chown", "postgres:postgres", folder) }
        let standby = PostgresServer(folder: folder, port: try Self.freePort(), programs: programs)
        try run(
            "pg_basebackup",
            "-h",
            "127.0.0.1",
            "-p",
            "\(port)",
            "-U",
            "postgres",
            "-D",
            standby.data,
            "-X",
            "stream",
            "-c",
            "fast"
        )
        try standby.configure([:])
        try Data().write(to: URL(fileURLWithPath: standby.data + "/standby.signal"))
        return standby
    }

    /// Starts a standby, promotes it, and waits until it takes writes.
    func promote() async throws {
        try await start()
        try run("pg_ctl", "promote", "-D", data, "-w")
        let connection = DatabaseConnection(try settings())
        defer { connection.close() }
        try await waitUntil("the server takes writes") {
            do { return try await !(connection.run("SELECT pg_is_in_recovery()").first?.bool(0) ?? true) } catch {
                return false
            }
        }
    }

    // MARK: Databases

    func settings(database: String = "postgres", user: String = "postgres", port: Int? = nil) throws -> DatabaseSettings
    {
        try DatabaseSettings("host=127.0.0.1 port=\(port ?? self.port) user=\(user) dbname=\(database)")
    }

    /// Creates a database. If `withQueue`, the database contains a queue.
    func makeDatabase(withQueue: Bool = true) async throws -> TestDatabase {
        if withQueue { try await makeTemplate() }
        let name = "t\(UUID().uuidString.lowercased().filter { $0 != "-" })"
        let template = withQueue ? "haul_template" : "template1"
        let connection = DatabaseConnection(try settings())
        defer { connection.close() }
        _ = try await connection.perform(timeout: .seconds(600)) { session throws(FleetError) in
            try session.execute("CREATE DATABASE \(name) TEMPLATE \(template)")
        }
        return TestDatabase(server: self, name: name, settings: try settings(database: name))
    }

    private func makeTemplate() async throws {
        let task = template.withLock { template in
            if let template { return template }
            let made = Task { try await makeTemplateOnce() }
            template = made
            return made
        }
        try await task.value
    }

    private func makeTemplateOnce() async throws {
        let connection = DatabaseConnection(try settings())
        _ = try await connection.perform(timeout: .seconds(600)) { session throws(FleetError) in
            try session.execute("CREATE DATABASE haul_template")
        }
        connection.close()
        let installed = DatabaseConnection(try settings(database: "haul_template"))
        try await SchemaInstaller(installed, .standard).install()
        _ = try await installed.run("UPDATE haul.setting SET lease_s = \(TestDatabase.leaseSeconds)")
        // PostgreSQL copies only a template database without connections.
        _ = try await installed.perform(timeout: .seconds(600)) { _ in }
        installed.close()
        let other = DatabaseConnection(try settings())
        defer { other.close() }
        try await waitUntil("nobody is connected to the template") {
            let text = "SELECT count(*) FROM pg_stat_activity WHERE datname = 'haul_template'"
            return try await other.run(text).first?.int(0) == 0
        }
    }
}

/// Waits until `condition` holds. Throws after 10 minutes.
func waitUntil(_ what: String, _ condition: () async throws -> Bool) async throws {
    let limit = ContinuousClock.now + .seconds(600)
    while try await !condition() {
        guard .now < limit else {
            throw PostgresServer.Failure(description: "In ten minutes it did not happen that \(what).")
        }
        try await Task.sleep(for: .milliseconds(20))
    }
}
