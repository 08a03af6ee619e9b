import Foundation
import HaulTesting
import Logging
import Synchronization
import Testing

@testable import HaulCore
@testable import HaulKit

/// A clock that stands still until it is told that all waits are over.
struct GatedClock: Clock {
    private let gate = AsyncStream.makeStream(of: Void.self)

    var now: ContinuousClock.Instant { ContinuousClock().now }
    var minimumResolution: Duration { ContinuousClock().minimumResolution }

    func passTheTime() { gate.continuation.finish() }

    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        for await _ in gate.stream {}
        try Task.checkCancellation()
    }
}

/// A clock that closes a file with the first wait, which is short, and then goes as any.
struct ClosingClock: Clock {
    let writer: FileHandle

    var now: ContinuousClock.Instant { ContinuousClock().now }
    var minimumResolution: Duration { ContinuousClock().minimumResolution }

    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        // Closed already from the second wait on.
        try? writer.close()
        try await ContinuousClock().sleep(until: deadline, tolerance: tolerance)
    }
}

/// A program of a test: a script that is run by its first line.
struct HookScript {
    let folder: TemporaryFolder
    var path: String { folder("hook") }

    init(_ lines: String, firstLine: String = "#!/bin/sh\n") throws {
        folder = try TemporaryFolder()
        try folder.makeProgram("hook", firstLine + lines)
    }

    /// What it wrote into a file beside it.
    func text(_ name: String) -> String? {
        // A file that is not there yet has no text.
        try? String(contentsOfFile: folder(name), encoding: .utf8)
    }

    /// Returns once it has written a line into a file beside it.
    func line(_ name: String) async throws -> String {
        while true {
            if let text = text(name), text.hasSuffix("\n") { return String(text.dropLast()) }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    func command(_ arguments: [String] = [], time: EngineClock = EngineClock(ContinuousClock())) -> HookCommand {
        HookCommand(
            path: path,
            arguments: arguments,
            limits: HookLimits(),
            time: time,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }
}

/// Whether a process runs: one that has ended and waits to be reaped by somebody else does not.
func isRunning(process: String) -> Bool {
    guard let status = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8) else { return false }
    return status.split(separator: ")").last?.split(separator: " ").first != "Z"
}
