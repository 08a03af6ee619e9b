import Foundation
import HaulTesting
import Synchronization

/// A child process whose output is collected until the process ends.
final class ChildProcess: Sendable {
    struct Result: Sendable {
        /// Exit status, or the number of the signal that killed the process.
        var status: Int32
        var output: String
        var errors: String
        var wasKilled: Bool
    }

    let identifier: pid_t
    private let hasEnded: Mutex<Bool>
    private let ending: Task<Result, Never>

    /// - Parameters:
    ///   - environment: environment of the child. `nil` means that of the tests.
    ///   - unread: receives both output streams of the child, instead of the result.
    init(
        _ executable: String,
        _ arguments: [String],
        environment: [String: String]? = nil,
        folder: String? = nil,
        unread: Pipe? = nil
    ) throws {
        let (output, errors) = (unread ?? Pipe(), unread ?? Pipe())
        let process = try SystemCommand.start(
            [executable] + arguments,
            environment: environment,
            folder: folder,
            outputs: (output.fileHandleForWriting.fileDescriptor, errors.fileHandleForWriting.fileDescriptor)
        )
        // Only the child holds the write ends now, so a reader sees the end of file when the child closes them.
        try output.fileHandleForWriting.close()
        if unread == nil { try errors.fileHandleForWriting.close() }
        let ended = AsyncStream.makeStream(of: SystemCommand.Ending.self)
        identifier = process
        hasEnded = Mutex(false)
        ending = Task {
            async let first = unread == nil ? Self.text(output.fileHandleForReading) : ""
            async let second = unread == nil ? Self.text(errors.fileHandleForReading) : ""
            switch await ended.stream.first(where: { _ in true }) {
            case .exited(let status):
                return await Result(status: status, output: first, errors: second, wasKilled: false)
            case .killed(let signal):
                return await Result(status: signal, output: first, errors: second, wasKilled: true)
            case nil:
                return await Result(status: -1, output: first, errors: second, wasKilled: false)
            }
        }
        Thread.detachNewThread { [self] in
            ended.continuation.yield(SystemCommand.end(of: process) { hasEnded.withLock { $0 = true } })
            ended.continuation.finish()
        }
    }

    var isRunning: Bool { hasEnded.withLock { !$0 } }

    /// Sends a signal to the process unless it has ended.
    func send(_ signal: Int32) {
        hasEnded.withLock { if !$0 { _ = kill(identifier, signal) } }
    }

    func result() async -> Result { await ending.value }

    /// Returns the result of the process. Sends SIGKILL if the process has not ended after `delay`.
    func result(killedAfter delay: Duration) async -> Result {
        let killer = Task {
            // The sleep throws only if the process has ended first.
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
            // A blocking read must not occupy a thread of the pool that the tests share.
            Thread.detachNewThread {
                // A pipe that cannot be read counts as empty.
                let data = (try? handle.readToEnd()) ?? nil
                continuation.resume(returning: String(decoding: data ?? Data(), as: UTF8.self))
            }
        }
    }
}
