internal import CHaulSystem
internal import Dispatch
internal import Foundation
internal import Synchronization

/// A program that was started, until it has ended and been reaped. Nothing of it is left behind.
final class RunningProgram: Sendable {
    enum Ending: Sendable, Hashable {
        case exited(status: Int32)
        case killed(signal: Int32)
        /// Somebody else in this process waits for every child, and was first.
        case unknown
    }

    private struct State {
        /// 0 until it has been started.
        var process: Int32 = 0
        var ending: Ending?
        var wasSignalled = false
        var waiting: [CheckedContinuation<Ending, Never>] = []
    }

    private let state = Mutex(State())

    /// Starts it without a shell: no word of its arguments is read by anybody else.
    ///
    /// - Parameters:
    ///   - outputs: descriptors for its standard output and standard error; what goes below 0 is lost.
    ///   - startThread: starts the thread that waits for its end.
    /// - Throws: why it cannot be started.
    init(
        _ path: String,
        _ arguments: [String],
        environment: [String: String],
        outputs: (Int32, Int32) = (-1, -1),
        startThread: DetachedThread.Starter = DetachedThread.start
    ) throws(SystemCalls.Errno) {
        // A thread of its own for each, of which there are few: a wait for a process holds up whatever it shares a thread with. It is
        // there before the program, which could not be waited for without it.
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
                haul_spawn(path, words, $0, outputs, &process)
            }
        }
        if code == 0 { state.withLock { $0.process = process } }
        isSpawned.signal()
        guard code == 0 else { throw SystemCalls.Errno(code: code) }
    }

    /// How it ended, once it has.
    func ending() async -> Ending {
        await withCheckedContinuation { continuation in
            let ending = state.withLock { state in
                if state.ending == nil { state.waiting.append(continuation) }
                return state.ending
            }
            if let ending { continuation.resume(returning: ending) }
        }
    }

    /// Sends a signal to it and to what it started, unless it has ended.
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
            // Told to end, it may have left others behind that do not. While it is not reaped the group's number is its own.
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
