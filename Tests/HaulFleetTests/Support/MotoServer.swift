import Foundation
import HaulTesting
import NIOCore
import NIOPosix

@testable import HaulFleet

/// moto's server, an S3-compatible store in memory that others wrote. One for the tests of a process; it ends with it.
///
/// `make fleet-requirements` installs it into `.build/moto`; where Python has it anyway, that one is used.
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

    /// The URL of the server, which it starts at the first call.
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
        // A thread of its own: it waits as long as the tests run, and would take one of the pool's few from them.
        Thread.detachNewThread {
            _ = SystemCommand.end(of: process)
            end.finish()
        }
        // Importing moto takes seconds; the limit is for a machine where it never comes.
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
