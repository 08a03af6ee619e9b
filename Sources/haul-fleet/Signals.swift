import CHaulSystem
import Foundation
import HaulKit
import Synchronization

/// SIGTERM, SIGINT and SIGHUP: the first ends a command in order, the second at once.
enum Signals {
    private static let count = Mutex(0)

    /// A reader that has ended is an error of the write, not the end of the process; so is a file beyond `ulimit -f`.
    static func ignoreThoseOfWrites() {
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
    }

    static var haveCome: Bool { count.withLock { $0 > 0 } }

    /// Calls `stop` after the first signal, on a thread that waits for signals.
    static func stop(_ stop: @escaping @Sendable () -> Void) {
        // What `nohup` or a shell without job control made the process ignore stays ignored.
        let signals = [SIGINT, SIGTERM, SIGHUP].filter { haul_ignores_signal($0) == 0 }
        guard haul_catch_signals(signals, Int32(signals.count)) == 0 else { return }
        let code = DetachedThread.start {
            while true {
                _ = haul_await_signal()
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                if number == 1 { stop() } else { _exit(ExitStatus.interrupted.rawValue) }
            }
        }
        // Without the thread no signal would be noticed: better that the first one ends the process.
        if code != 0 { haul_release_signals(signals, Int32(signals.count)) }
    }
}
