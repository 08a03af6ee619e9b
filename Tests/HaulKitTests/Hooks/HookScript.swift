import Foundation
import HaulTesting
import Logging
import Synchronization
import Testing

@testable import HaulCore
@testable import HaulKit

/// A clock whose waits all last until `passTheTime` is called.
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

/// A clock that closes `writer` at the first wait. Its waits last as long as real ones.
struct ClosingClock: Clock {
    let writer: FileHandle

    var now: ContinuousClock.Instant { ContinuousClock().now }
    var minimumResolution: Duration { ContinuousClock().minimumResolution }

    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        // Fails from the second wait on, because the file is closed.
        try? writer.close()
        try await ContinuousClock().sleep(until: deadline, tolerance: tolerance)
    }
}

/// A script that a test runs as the program of a hook.
struct HookScript {
    let folder: TemporaryFolder
    var path: String { folder("hook") }

    init(_ lines: String, firstLine: String = "#!/bin/sh\n") throws {
        folder = try TemporaryFolder()
        try folder.makeProgram("hook", firstLine + lines)
    }

    /// Returns the text that the script wrote to the file `name` beside it.
    func text(_ name: String) -> String? {
        // A missing file has no text.
        try? String(contentsOfFile: folder(name), encoding: .utf8)
    }

    /// Returns the first line that the script writes to the file `name` beside it, once the line is complete.
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

/// Returns whether a process runs. A process that has ended but was not reaped does not count.
func isRunning(process: String) -> Bool {
    guard let status = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8) else { return false }
    return status.split(separator: ")").last?.split(separator: " ").first != "Z"
}
