internal import CHaulSystem
internal import Dispatch
internal import Foundation
internal import Synchronization

/// A program from its start until it has ended and been reaped. ``HookCommand`` ends the program of a hook after its
/// time limit.
final class RunningProgram: Sendable {
    enum Ending: Sendable, Hashable {
        case exited(status: Int32)
        case killed(signal: Int32)
        /// Other code in this process waits for every child, and reaped the program first.
        case unknown
    }

    private struct State {
        /// 0 until the program has been started.
        var process: Int32 = 0
        var ending: Ending?
        var wasSignalled = false
        var waiting: [CheckedContinuation<Ending, Never>] = []
    }

    private let state = Mutex(State())

    /// Starts a program without a shell, so that nothing interprets its arguments.
    ///
    /// - Parameters:
    ///   - outputs: descriptors for standard output and standard error. Output to a negative descriptor is discarded.
    ///   - opensManyFiles: whether the program may open as many files as the hard limit allows.
    ///   - startThread: starts the thread that waits for the end of the program.
    /// - Throws: the errno if the program cannot be started.
    init(
        _ path: String,
        _ arguments: [String],
        environment: [String: String],
        outputs: (Int32, Int32) = (-1, -1),
        opensManyFiles: Bool = false,
        startThread: DetachedThread.Starter = DetachedThread.start
    ) throws(SystemCalls.Errno) {
        // Each program has a thread of its own, because waiting for a process blocks the thread. There are only a few
        // programs. The thread is started first, because a program could not be waited for without it.
        let isSpawned = DispatchSemaphore(value: 0)
        let threadCode = startThread { [self] in
            isSpawned.wait()
            awaitEnd()
        }
        guard threadCode == 0 else { throw SystemCalls.Errno(code: threadCode) }
        var process: Int32 = 0
        let outputs = [outputs.0, outputs.1]
        let words = [path] + arguments
        let code = CStrings.withPointers(words) { words in
            CStrings.withPointers(environment.map { "\($0)=\($1)" }) {
                opensManyFiles
                    ? haul_spawn_with_most_files(path, words, $0, outputs, &process)
                    : haul_spawn(path, words, $0, outputs, &process)
            }
        }
        if code == 0 { state.withLock { $0.process = process } }
        isSpawned.signal()
        guard code == 0 else { throw SystemCalls.Errno(code: code) }
    }

    /// Waits until the program has ended.
    func ending() async -> Ending {
        await withCheckedContinuation { continuation in
            let ending = state.withLock { state in
                if state.ending == nil { state.waiting.append(continuation) }
                return state.ending
            }
            if let ending { continuation.resume(returning: ending) }
        }
    }

    /// Sends a signal to the program and its child processes, unless the program has ended.
    func send(_ signal: Int32) {
        state.withLock { state in
            guard state.ending == nil, state.process > 0 else { return }
            state.wasSignalled = true
            _ = haul_signal_group(state.process, signal)
        }
    }

    private func awaitEnd() {
        let process = state.withLock { $0.process }
        guard process > 0 else { return }
        _ = haul_await_end(process)
        let (ending, waiting) = state.withLock { state in
            // Kills children of a signalled program that have ignored the signal. No other process group can get this
            // number before the program is reaped.
            if state.wasSignalled { _ = haul_signal_group(process, SIGKILL) }
            let status = haul_reap(process)
            let ending: Ending =
                status < 0 ? .unknown : status < 256 ? .exited(status: status) : .killed(signal: status - 256)
            state.ending = ending
            defer { state.waiting = [] }
            return (ending, state.waiting)
        }
        for continuation in waiting { continuation.resume(returning: ending) }
    }
}
