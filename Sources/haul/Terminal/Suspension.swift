import CHaulSystem
import Foundation
import Synchronization

/// Ctrl-Z, `fg` and Ctrl-\\ on a terminal: whoever uses it next finds its cursor, and the display is drawn again when the process
/// goes on.
///
/// Called by the thread of ``Interruption``.
enum Suspension {
    /// What a display does when the process is about to be stopped, and when it goes on.
    protocol Participant: AnyObject, Sendable {
        func suspend()
        func resume()
    }

    private struct Weak: Sendable {
        weak var display: (any Participant)?
    }
    private static let shown = Mutex(Weak())

    /// The signals to be handed to ``take(_:)``; none where there is no terminal, nor those that a shell without job control ignores.
    static var signals: [Int32] {
        Terminal.isInteractive ? [SIGTSTP, SIGCONT, SIGQUIT].filter { haul_ignores_signal($0) == 0 } : []
    }

    static func follow(_ display: any Participant) { shown.withLock { $0.display = display } }

    /// - Returns: false when it is another signal.
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

    /// What is still to be printed would come after the shell's prompt; but a terminal that takes nothing is not waited for.
    private static func waitForOutput() {
        for _ in 0..<40 where Output.isBehind { usleep(5000) }
    }
}
