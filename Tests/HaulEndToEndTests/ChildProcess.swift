import Foundation

/// A process that is waited for without a run loop, which a test has none of.
final class ChildProcess: Sendable {
    struct Result: Sendable {
        var status: Int32
        var output: String
        var errors: String
        var wasKilled: Bool
    }

    let identifier: pid_t
    private let ending: Task<Result, Never>

    /// - Parameters:
    ///   - environment: nil: that of the tests.
    ///   - unread: takes what it prints on both streams, in place of the result.
    init(
        _ executable: String,
        _ arguments: [String],
        environment: [String: String]? = nil,
        folder: String? = nil,
        unread: Pipe? = nil
    ) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: executable)
        process.arguments = arguments
        if let environment { process.environment = environment }
        if let folder { process.currentDirectoryURL = URL(fileURLWithPath: folder) }
        process.standardInput = FileHandle.nullDevice
        let output = Pipe()
        let errors = Pipe()
        process.standardOutput = unread ?? output
        process.standardError = unread ?? errors
        let ended = AsyncStream.makeStream(of: (Int32, Bool).self)
        process.terminationHandler = { process in
            ended.continuation.yield((process.terminationStatus, process.terminationReason == .uncaughtSignal))
            ended.continuation.finish()
        }
        try process.run()
        if unread != nil {
            // Nobody else will: whoever waits for their ends would wait for ever.
            try output.fileHandleForWriting.close()
            try errors.fileHandleForWriting.close()
        }
        identifier = process.processIdentifier
        let outputHandle = output.fileHandleForReading
        let errorHandle = errors.fileHandleForReading
        ending = Task {
            async let first = Self.text(outputHandle)
            async let second = Self.text(errorHandle)
            var status: (Int32, Bool) = (-1, false)
            for await result in ended.stream { status = result }
            return await Result(status: status.0, output: first, errors: second, wasKilled: status.1)
        }
    }

    func send(_ signal: Int32) { kill(identifier, signal) }
    func result() async -> Result { await ending.value }

    /// How it ended, by itself or by a SIGKILL after so long.
    func result(killedAfter delay: Duration) async -> Result {
        let killer = Task {
            // Sleeping ends early only when the process ended first.
            guard (try? await Task.sleep(for: delay)) != nil else { return }
            send(SIGKILL)
        }
        defer { killer.cancel() }
        return await result()
    }

    /// Runs a program of the system to its end.
    static func run(_ words: String...) async throws -> Result {
        try await ChildProcess("/usr/bin/env", words).result()
    }

    private static func text(_ handle: FileHandle) async -> String {
        await withCheckedContinuation { continuation in
            // A thread of its own: a read that waits would hold up the tests that share the pool.
            Thread.detachNewThread {
                // A pipe of ours that cannot be read has nothing to say.
                let data = (try? handle.readToEnd()) ?? nil
                continuation.resume(returning: String(decoding: data ?? Data(), as: UTF8.self))
            }
        }
    }
}
