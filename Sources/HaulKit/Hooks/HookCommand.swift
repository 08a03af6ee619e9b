internal import Foundation
internal import Logging

/// Runs a hook's program once for each message.
struct HookCommand: Sendable {
    let path: String
    let arguments: [String]
    let limits: HookLimits
    let time: EngineClock
    let logger: Logger
    var onFailure: (@Sendable (String) -> Void)?

    /// Returns when the program has ended by itself, by its time limit, or because the task was cancelled.
    func run(_ message: HookMessage) async {
        guard let program = await start(message) else { return }
        let sleep = time.sleep
        let limit = HookLimits.bounded(limits.commandTime)
        // If the delivery is cancelled, this wait ends at once, and the watchdog ends the program.
        let patience = Task { try? await sleep(limit) }
        let watchdog = Task {
            await patience.value
            program.send(SIGTERM)
            // This wait is cancelled when the program has ended. The signal then has no effect.
            try? await sleep(HookLimits.grace)
            program.send(SIGKILL)
        }
        let ending = await withTaskCancellationHandler {
            await program.ending()
        } onCancel: {
            patience.cancel()
        }
        watchdog.cancel()
        patience.cancel()
        switch ending {
        case .exited(status: 0), .unknown: break
        case .exited(let status): report("ended with status \(status)")
        case .killed(let signal): report("ended by signal \(signal)")
        }
    }

    private func report(_ failure: String) {
        let text = "hook \(path): \(failure)"
        logger.debug("\(text)")
        onFailure?(text)
    }

    /// Starts the program. Waits while another process has the program's file open for writing, for example to replace
    /// it, and while this process has too many files open.
    ///
    /// - Returns: `nil` if the program cannot be run, or if the delivery is cancelled during the wait.
    private func start(_ message: HookMessage) async -> RunningProgram? {
        var wait = HookLimits.firstWaitForBusyProgram
        while true {
            do throws(SystemCalls.Errno) {
                return try RunningProgram(
                    path,
                    arguments + message.arguments,
                    environment: message.environment(over: ProcessInfo.processInfo.environment)
                )
            } catch {
                // Waits for a free descriptor without a limit, because other files will be closed. Closing the delivery
                // queue of the hooks ends the wait.
                let isForFiles = DiskError.Kind(errno: error.code) == .tooManyOpenFiles
                guard isForFiles || error.code == ETXTBSY && wait <= HookLimits.lastWaitForBusyProgram else {
                    report("cannot be run: \(SystemCalls.describe(errno: error.code))")
                    return nil
                }
            }
            // `sleep` fails only on cancellation of the delivery.
            guard (try? await time.sleep(min(wait, HookLimits.lastWaitForBusyProgram))) != nil else { return nil }
            wait = min(wait * 2, HookLimits.lastWaitForBusyProgram * 2)
        }
    }
}
