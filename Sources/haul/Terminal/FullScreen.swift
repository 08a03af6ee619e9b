import Foundation
import Synchronization

/// Takes the whole terminal for a view with keys, and restores it.
enum FullScreen {
    private struct State {
        /// The settings of the terminal before this program changed them.
        var found: termios?
        var isShown = false
    }
    private static let state = Mutex(State())

    // Sequences that switch to an empty alternate screen without cursor and line wrap, and back.
    private static let entering = "\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l\u{1B}[2J"
    private static let leaving = "\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l"

    /// Whether there is a terminal for the view and its keys.
    static var isPossible: Bool {
        Terminal.isInteractive && isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1
    }

    static var isShown: Bool { state.withLock { $0.isShown } }

    /// Takes the terminal, which then delivers keys one by one without echo. Ctrl-C and Ctrl-Z stay signals.
    static func enter() {
        state.withLock { state in
            guard !state.isShown else { return }
            var settings = termios()
            guard tcgetattr(STDIN_FILENO, &settings) == 0 else { return }
            if state.found == nil { state.found = settings }
            settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
            tcsetattr(STDIN_FILENO, TCSANOW, &settings)
            state.isShown = true
            write(entering)
        }
    }

    /// Gives the terminal back; does nothing if it was not taken. Waits up to 0.2 s for output that is being printed.
    static func leaveAtOnce() {
        state.withLock { state in
            guard state.isShown, var found = state.found else { return }
            state.isShown = false
            for _ in 0..<40 where Output.isBehind { usleep(5000) }
            write(leaving)
            tcsetattr(STDIN_FILENO, TCSANOW, &found)
        }
    }

    /// Gives the terminal back, stops this process as Ctrl-Z does, and takes the terminal again when the process
    /// continues.
    static func suspend() {
        leaveAtOnce()
        kill(getpid(), SIGSTOP)
        enter()
    }

    private static func write(_ text: String) {
        // Writes nothing if the terminal accepts no output for 0.1 s.
        var ready = pollfd(fd: STDERR_FILENO, events: Int16(POLLOUT), revents: 0)
        guard poll(&ready, 1, 100) == 1 else { return }
        _ = Foundation.write(STDERR_FILENO, text, text.utf8.count)
    }
}
