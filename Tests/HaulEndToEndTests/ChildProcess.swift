import Foundation
import HaulTesting
import Synchronization

/// A process whose output is gathered until it ends.
final class ChildProcess: Sendable {
    struct Result: Sendable {
        /// What it exited with, or the number of the signal that killed it.
        var status: Int32
        var output: String
        var errors: String
        var wasKilled: Bool
    }

    let identifier: pid_t
    private let hasEnded: Mutex<Bool>
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
        let (output, errors) = (unread ?? Pipe(), unread ?? Pipe())
        let process = try SystemCommand.start(
            [executable] + arguments,
            environment: environment,
            folder: folder,
            outputs: (output.fileHandleForWriting.fileDescriptor, errors.fileHandleForWriting.fileDescriptor)
        )
        // Only the child holds them now: a reader sees end of file when the child closes them.
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

    /// Sends a signal to it, unless it has ended.
    func send(_ signal: Int32) {
        hasEnded.withLock { if !$0 { _ = kill(identifier, signal) } }
    }

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
