import Foundation
import HaulTesting
import Synchronization
import Testing

@testable import HaulCore
@testable import HaulKit

/// Programs while the system has no more threads. They fail, and nothing waits for a thread that does not exist.
@Suite(.timeLimit(.minutes(60)))
struct ProgramWithoutThreadTests {
    @Test func isNotStartedWithoutAThreadThatWaitsForItsEnd() async throws {
        let script = try HookScript("echo > \"$(dirname \"$0\")/out\"")
        #expect(throws: SystemCalls.Errno.self) {
            try RunningProgram(script.path, [], environment: [:], startThread: { _ in EAGAIN })
        }
        #expect(script.text("out") == nil)
    }

    /// - Parameter granted: how many of the three threads can be started.
    @Test(arguments: 0..<3) func failsWithoutAThreadThatReadsWhatItPrints(_ granted: Int) async throws {
        let script = try HookScript("echo $$ > \"$(dirname \"$0\")/pid\"; yes")
        let asked = Mutex(0)
        let error = await #expect(throws: DownloadError.self) {
            try await ProgramOutput.of(
                script.path,
                environment: ["PATH": "/usr/bin:/bin"],
                startThread: { body in
                    let isGranted = asked.withLock {
                        $0 += 1
                        return $0 <= granted
                    }
                    return isGranted ? DetachedThread.start(body) : EAGAIN
                }
            )
        }
        #expect(error?.code == .sourceFailed)
        #expect(error?.message.contains("cannot be run") == true, "\(String(describing: error))")
    }

    @Test func doesNotStartWhenItIsCancelledAlready() async throws {
        let script = try HookScript("echo > \"$(dirname \"$0\")/out\"")
        let path = script.path
        let work = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            _ = try await ProgramOutput.of(path, environment: [:])
        }
        await #expect(throws: CancellationError.self) { try await work.value }
        #expect(script.text("out") == nil)
    }
}
