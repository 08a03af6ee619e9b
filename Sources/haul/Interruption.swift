import CHaulSystem
import Foundation
import HaulKit
import Synchronization

/// Handles Ctrl-C, SIGTERM and SIGHUP. The first signal shuts down in order; the second ends the process at once. A
/// SIGHUP never counts as the second, because a terminal that is closed sends several. A SIGINT that ends the recording
/// of a live stream does not count.
///
/// A thread of its own waits for signals, so that they are handled even if all other threads are blocked.
enum Interruption {
    private struct State {
        var count = 0
        var isWatching = false
        var stage = Stage.opening
        /// Whether the thread that waits for signals has started.
        var isAwaiting = false
        var others: [Int32: @Sendable () -> Void] = [:]
        /// Ends recordings of live streams; `nil` until a command sets it, and after a call that ended a recording.
        var finish: (@Sendable () async -> Bool)?
    }
    private enum Stage {
        case opening
        case running(stop: @Sendable () async -> Void)
        /// The downloader is shut down and only output waits for its reader. That wait ends a moment after the first
        /// signal.
        case over
    }
    private static let state = Mutex(State())

    static var hasHappened: Bool { state.withLock { $0.count > 0 } }

    /// Handles signals from now on. Before ``stop(_:)`` is called, the first signal ends the process.
    static func watch() {
        let isFirst = state.withLock { state in
            defer { state.isWatching = true }
            return !state.isWatching
        }
        guard isFirst else { return }
        // A signal stays ignored if `nohup` or a shell without job control made the process ignore it.
        let ending = [SIGINT, SIGTERM, SIGHUP].filter { haul_ignores_signal($0) == 0 }
        let signals = ending + Suspension.signals
        guard haul_catch_signals(signals, Int32(signals.count)) == 0 else { return }
        let code = DetachedThread.start {
            while true {
                take(haul_await_signal())
            }
        }
        state.withLock { $0.isAwaiting = code == 0 }
        // Restores the default action of the signals, which ends the process, because no thread would handle them.
        if code != 0 { haul_release_signals(signals, Int32(signals.count)) }
    }

    /// - Parameter stop: called once, after the first signal.
    static func stop(_ stop: @escaping @Sendable () async -> Void) {
        state.withLock { $0.stage = .running(stop: stop) }
    }

    /// - Parameter finish: ends recordings of live streams. Called after the first SIGINT, before the function that
    ///   ``stop(_:)`` names. If it returns `true`, the signal does not count, and the next one is the first.
    static func finish(_ finish: @escaping @Sendable () async -> Bool) {
        state.withLock { $0.finish = finish }
    }

    /// Calls `body` for each `signal` from now on, on the thread that waits for signals. Such a signal does not end or
    /// shut down anything. Handles SIGHUP even if `nohup` made the process ignore it.
    static func handle(_ signal: Int32, _ body: @escaping @Sendable () -> Void) {
        let isAwaiting = state.withLock { state in
            state.others[signal] = body
            return state.isAwaiting
        }
        if isAwaiting { haul_catch_signals([signal], 1) }
    }

    /// Notes that the downloader is shut down and that nothing remains to be stopped.
    static func end() {
        state.withLock { $0.stage = .over }
    }

    private static func take(_ signal: Int32) {
        if let body = state.withLock({ $0.others[signal] }) {
            body()
            return
        }
        if Suspension.take(signal) { return }
        let (count, stage, finish) = state.withLock { state in
            state.count += 1
            return (state.count, state.stage, signal == SIGINT ? state.finish : nil)
        }
        if count > 1, signal == SIGHUP { return }
        switch stage {
        case .running(let stop) where count == 1:
            Task {
                if let finish, await finish() {
                    state.withLock { ($0.count, $0.finish) = (0, nil) }
                } else {
                    await stop()
                }
            }
        case .over where count == 1: break
        case .opening, .running, .over:
            Terminal.restoreAtOnce()
            _exit(ExitStatus.interrupted.rawValue)
        }
    }
}
