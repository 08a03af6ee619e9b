import CHaulSystem
import Foundation
import HaulKit
import Synchronization

/// Handles SIGTERM, SIGINT and SIGHUP: the first signal asks a command to stop, the second one ends the process at
/// once.
enum Signals {
    private static let count = Mutex(0)

    /// Ignores SIGPIPE and SIGXFSZ, so that a write to a closed pipe or beyond `ulimit -f` fails instead of ending the
    /// process.
    static func ignoreThoseOfWrites() {
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
    }

    static var haveCome: Bool { count.withLock { $0 > 0 } }

    /// Calls `stop` after the first signal, on the thread that waits for signals.
    static func stop(_ stop: @escaping @Sendable () -> Void) {
        // Signals stay ignored if `nohup` or a shell without job control has made the process ignore them.
        let signals = [SIGINT, SIGTERM, SIGHUP].filter { haul_ignores_signal($0) == 0 }
        guard haul_catch_signals(signals, Int32(signals.count)) == 0 else { return }
        let code = DetachedThread.start {
            while true {
                _ = haul_await_signal()
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                if number == 1 { stop() } else { _exit(FleetExitStatus.interrupted.rawValue) }
            }
        }
        // Releases the signals if there is no thread to wait for them, so that the first signal ends the process.
        if code != 0 { haul_release_signals(signals, Int32(signals.count)) }
    }
}
