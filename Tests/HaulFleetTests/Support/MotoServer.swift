import Foundation
import HaulTesting
import NIOCore
import NIOPosix

@testable import HaulFleet

/// Runs moto's server, an independent S3-compatible store in memory. The test process starts one server, which ends
/// with the process.
///
/// `make fleet-requirements` installs moto into `.build/moto`. Without that folder, Python's own installation is used.
actor MotoServer {
    static let shared = MotoServer()

    private static let program = """
        import os, sys, threading, time
        parent = os.getppid()
        def watch():
            while os.getppid() == parent: time.sleep(0.3)
            os._exit(0)
        threading.Thread(target=watch, daemon=True).start()
        from moto.server import main
        main(["-H", "127.0.0.1", "-p", sys.argv[1]])
        """

    struct Missing: Error, CustomStringConvertible {
        let description = "moto's server did not start. Run make fleet-requirements; it needs python3."
    }

    private var start: Task<String, any Error>?

    /// Returns the URL of the server. The first call starts the server.
    func endpoint() async throws -> String {
        let task = start ?? Task { try await Self.run() }
        start = task
        return try await task.value
    }

    private static func run() async throws -> String {
        let port = try await freePort()
        var environment = ProcessInfo.processInfo.environment
        let folder = FileManager.default.currentDirectoryPath + "/.build/moto"
        if FileManager.default.fileExists(atPath: folder) { environment["PYTHONPATH"] = folder }
        environment["S3_UPLOAD_PART_MIN_SIZE"] = "1"
        let process = try SystemCommand.start(["python3", "-c", program, "\(port)"], environment: environment)
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        // The wait lasts as long as the tests run, so it must not occupy a thread of the cooperative pool.
        Thread.detachNewThread {
            _ = SystemCommand.end(of: process)
            end.finish()
        }
        // Importing moto takes seconds. The limit is for a machine on which the server never starts.
        for _ in 0..<1200 {
            if await isListening(port) { return "http://127.0.0.1:\(port)" }
            guard kill(process, 0) == 0 else { break }
            try await Task.sleep(for: .milliseconds(100))
        }
        kill(process, SIGKILL)
        for await _ in ends {}
        throw Missing()
    }

    private static func freePort() async throws -> Int {
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(host: "127.0.0.1", port: 0).get()
        let port = channel.localAddress?.port
        try await channel.close()
        guard let port else { throw Missing() }
        return port
    }

    private static func isListening(_ port: Int) async -> Bool {
        do {
            let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connect(host: "127.0.0.1", port: port).get()
            try await channel.close()
            return true
        } catch {
            return false
        }
    }
}
