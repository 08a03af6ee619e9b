import Foundation
import HaulTesting

/// Runs a real `haul serve` in temporary folders, and the commands that talk to it.
final class DaemonRig: Sendable {
    let haul: HaulCommand
    /// Folder for the downloads of the daemon.
    var downloads: String { haul.folder("Downloads") }
    var socket: String { haul.state("daemon/daemon.sock") }

    init(_ environment: [String: String] = [:]) throws {
        var haul = try HaulCommand()
        haul.environment.merge(environment) { $1 }
        self.haul = haul
    }

    /// Starts the daemon on a port that the kernel chooses, and waits until it listens.
    func start(_ arguments: [String] = []) async throws -> ChildProcess {
        let process = try haul.start(["serve", "--listen", "127.0.0.1:0"] + arguments)
        try await until { [self] in try endpoint()?.process == process.identifier || !process.isRunning }
        guard process.isRunning else { throw Failure(result: await process.result()) }
        return process
    }

    struct Failure: Error {
        let result: ChildProcess.Result
    }

    struct Endpoint: Decodable {
        var process: Int32
        var page: String?
    }

    /// Returns the contents of the daemon's lock file, or `nil` before the daemon listens.
    func endpoint() throws -> Endpoint? {
        guard let data = FileManager.default.contents(atPath: haul.state("daemon/lock")) else { return nil }
        // Decoding fails while the daemon is writing the file.
        return try? JSONDecoder().decode(Endpoint.self, from: data)
    }

    func run(_ arguments: String...) async throws -> ChildProcess.Result { try await haul.start(arguments).result() }

    struct Row: Decodable {
        var id: String
        var name: String
        var state: String
        var receivedBytes: Int64
        var path: String?
        var group: String?
    }

    func rows(_ arguments: String...) async throws -> [Row] {
        let result = try await haul.start(["list", "--json"] + arguments).result()
        guard result.status == 0 else { throw Failure(result: result) }
        return try result.output.split(separator: "\n").map { try JSONDecoder().decode(Row.self, from: Data($0.utf8)) }
    }

    /// Waits until the rows satisfy `condition`, and returns them.
    func wait(_ arguments: String..., rows condition: ([Row]) -> Bool) async throws -> [Row] {
        while true {
            let result = try await haul.start(["list", "--json"] + arguments).result()
            let rows = try result.output.split(separator: "\n").map {
                try JSONDecoder().decode(Row.self, from: Data($0.utf8))
            }
            if condition(rows) { return rows }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    /// Returns whether the store of the daemon contains a text, such as the received ranges of a download.
    func storeHolds(_ text: String) -> Bool {
        ["daemon.sqlite", "daemon.sqlite-wal"].contains { name in
            FileManager.default.contents(atPath: haul.state(name))?.contains(text) ?? false
        }
    }

    /// Ends a daemon as systemd does.
    @discardableResult
    func stop(_ process: ChildProcess) async -> ChildProcess.Result {
        process.send(SIGTERM)
        return await process.result(killedAfter: .seconds(1800))
    }
}
