import Foundation
import HaulTesting
import Synchronization
import Testing

@testable import HaulFleet

/// Runs real worker processes on a database and folders of one test.
final class FleetRig: Sendable {
    let folder: TemporaryFolder
    let server: PostgresServer
    let database: TestDatabase
    private let processes = Mutex<[Int32: String]>([:])
    private let variables = Mutex<[String: String]>([:])

    var destination: String { folder("out") }

    private init(_ server: PostgresServer, _ database: TestDatabase) throws {
        (self.server, self.database) = (server, database)
        folder = try TemporaryFolder()
    }

    /// - Parameter ownServer: `true` for a test that stops its PostgreSQL server.
    static func run(leaseSeconds: Int = 60, ownServer: Bool = false, _ test: (FleetRig) async throws -> Void)
        async throws
    {
        let server = try await ownServer ? PostgresServer.start() : PostgresServer.shared()
        let rig = try FleetRig(server, try await server.makeDatabase())
        var failure: (any Error)?
        do {
            try await rig.command("init", "--to", rig.destination, "--lease-time", "\(leaseSeconds)")
            try await test(rig)
        } catch { failure = error }
        for process in rig.processes.withLock({ Array($0.keys) }) { rig.kill(process) }
        try await rig.database.drop()
        if ownServer { try await server.stop() }
        if let failure { throw failure }
    }

    // MARK: Commands

    /// Sets a variable of the commands and workers that are started from now on; `nil` removes it.
    func setVariable(_ name: String, _ value: String?) { variables.withLock { $0[name] = value } }

    private var environment: [String: String] {
        let standard = [
            "PATH": "/usr/bin:/bin", "HOME": folder.path,
            "AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "the secret",
            "HAUL_FLEET_DATABASE": "host=127.0.0.1 port=\(server.port) user=postgres dbname=\(database.name)",
        ]
        return standard.merging(variables.withLock { $0 }) { _, own in own }
    }

    static let program = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        .appendingPathComponent("haul-fleet").path

    private func start(_ arguments: [String]) throws -> Int32 {
        let log = open(folder("log"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        defer { close(log) }
        return try SystemCommand.start([Self.program] + arguments, environment: environment, outputs: (log, log))
    }

    /// Runs a command to its end and requires status 0.
    func command(_ arguments: String...) async throws {
        let process = try start(arguments)
        let ending = await Self.end(of: process)
        let log = try String(contentsOfFile: folder("log"), encoding: .utf8)
        try #require(ending == .exited(0), "haul-fleet \(arguments.joined(separator: " ")): \(log)")
    }

    /// Runs a command to its end.
    ///
    /// - Returns: the exit status, and what every command so far has printed.
    func ending(of arguments: String...) async throws -> (ending: SystemCommand.Ending, log: String) {
        try await ending(of: arguments)
    }

    func ending(of arguments: [String]) async throws -> (ending: SystemCommand.Ending, log: String) {
        let process = try start(arguments)
        let ending = await Self.end(of: process)
        return (ending, try String(contentsOfFile: folder("log"), encoding: .utf8))
    }

    func add(_ lines: [String]) async throws {
        let path = folder("list-\(UUID().uuidString).jsonl")
        try lines.joined(separator: "\n").write(toFile: path, atomically: true, encoding: .utf8)
        try await command("add", "-i", path)
    }

    static func end(of process: Int32) async -> SystemCommand.Ending {
        await withCheckedContinuation { continuation in
            // The wait lasts as long as the process, so it must not occupy a thread of a dispatch queue.
            Thread.detachNewThread { continuation.resume(returning: SystemCommand.end(of: process)) }
        }
    }

    // MARK: Workers

    /// - Parameter name: name of the work folder. A worker with the name of an earlier worker continues the work of
    ///   that worker.
    func startWorker(_ name: String, _ arguments: String...) throws -> Int32 {
        let process = try start(
            ["work", "--quiet", "--label", name, "--work-folder", folder("work-\(name)")] + arguments
        )
        processes.withLock { $0[process] = name }
        return process
    }

    func kill(_ process: Int32) {
        guard processes.withLock({ $0.removeValue(forKey: process) }) != nil else { return }
        Foundation.kill(process, SIGKILL)
        _ = SystemCommand.end(of: process)
    }

    func signal(_ process: Int32, _ number: Int32) { Foundation.kill(process, number) }

    /// Waits until the worker ends by itself.
    func ending(of process: Int32) async -> SystemCommand.Ending {
        processes.withLock { _ = $0.removeValue(forKey: process) }
        return await Self.end(of: process)
    }

    /// Waits until the store of a worker has the received ranges of a download. The store has them a moment after the
    /// file has the bytes.
    func waitUntilStored(_ ranges: String, by name: String) async throws {
        let work = folder("work-\(name)")
        try await HaulFleetTests.waitUntil("the store of \(name) has \(ranges)") {
            let all = FileManager.default.enumerator(atPath: work)?.compactMap { $0 as? String } ?? []
            return all.contains { path in
                guard path.hasSuffix(".sqlite") || path.hasSuffix(".sqlite-wal") else { return false }
                let data = FileManager.default.contents(atPath: work + "/" + path)
                return data?.firstRange(of: Data(ranges.utf8)) != nil
            }
        }
    }

    // MARK: What is there

    func waitUntil(_ what: String, _ query: String) async throws {
        try await HaulFleetTests.waitUntil(what) {
            try await self.database.sql("SELECT \(query)").first?.bool(0) ?? false
        }
    }

    func number(_ query: String) async throws -> Int {
        let row = try #require(try await database.sql("SELECT (\(query))::bigint").first)
        return try row.int(0)
    }

    /// Returns the time of the database's clock, in PostgreSQL's text format.
    func serverTime() async throws -> String {
        try #require(try await database.sql("SELECT clock_timestamp()::text").first).text(0)
    }

    func holds(_ content: TestContent, _ path: String) throws -> Bool {
        try content.matches(fileAt: destination + "/" + path)
    }

    /// Returns the published files below the destination.
    func names() throws -> [String] {
        let all = try #require(FileManager.default.enumerator(atPath: destination))
        return all.compactMap { $0 as? String }.filter { name in
            var isFolder: ObjCBool = false
            return !name.hasPrefix(".haul-fleet")
                && FileManager.default.fileExists(atPath: destination + "/" + name, isDirectory: &isFolder)
                && !isFolder.boolValue
        }.sorted()
    }
}
