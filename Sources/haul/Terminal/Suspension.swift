import CHaulSystem
import Foundation
import Synchronization

/// Handles Ctrl-Z, `fg` and Ctrl-\\ on a terminal. The cursor is shown again before the process stops, and the display
/// is drawn again when the process continues.
///
/// The thread of ``Interruption`` calls these functions.
enum Suspension {
    /// A display that reacts when the process is about to stop, and when it continues.
    protocol Participant: AnyObject, Sendable {
        func suspend()
        func resume()
    }

    private struct Weak: Sendable {
        weak var display: (any Participant)?
    }
    private static let shown = Mutex(Weak())

    /// The signals for ``take(_:)``; empty without a terminal. Excludes the signals that a shell without job control
    /// made this process ignore.
    static var signals: [Int32] {
        Terminal.isInteractive ? [SIGTSTP, SIGCONT, SIGQUIT].filter { haul_ignores_signal($0) == 0 } : []
    }

    static func follow(_ display: any Participant) { shown.withLock { $0.display = display } }

    /// - Returns: `false` for another signal.
    static func take(_ signal: Int32) -> Bool {
        let display = shown.withLock { $0.display }
        switch signal {
        case SIGCONT: display?.resume()
        case SIGTSTP, SIGQUIT:
            display?.suspend()
            waitForOutput()
            Terminal.restoreAtOnce()
            haul_take_default(signal)
            display?.resume()
        default: return false
        }
        return true
    }

    /// Waits up to 0.2 s until queued output is printed, because the rest would appear after the shell's prompt. The
    /// limit is for a terminal that accepts nothing.
    private static func waitForOutput() {
        for _ in 0..<40 where Output.isBehind { usleep(5000) }
    }
}
