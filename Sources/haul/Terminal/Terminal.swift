import Foundation

/// The terminal behind standard error.
enum Terminal {
    static var isInteractive: Bool {
        isatty(STDERR_FILENO) == 1 && ProcessInfo.processInfo.environment["TERM"] != "dumb"
    }

    /// Whether this process is in the foreground. In the background the terminal belongs to the shell.
    static var isOurs: Bool {
        let group = tcgetpgrp(STDERR_FILENO)
        // A negative group means that the terminal belongs to another session, so no shell of this session uses it.
        return group < 0 || group == getpgrp()
    }

    /// The current columns and rows, which change with the window.
    static var size: (columns: Int, rows: Int) {
        var size = winsize()
        guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return (80, 24)
        }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    static func hideCursor() { Output.write(hiding) }
    /// Shows the cursor again; harmless if it was not hidden.
    static func restore() { if isInteractive { Output.write(showing) } }

    /// Restores the terminal before queued output is printed, if the terminal accepts the text without blocking.
    static func restoreAtOnce() {
        FullScreen.leaveAtOnce()
        var ready = pollfd(fd: STDERR_FILENO, events: Int16(POLLOUT), revents: 0)
        guard isInteractive, poll(&ready, 1, 0) == 1, ready.revents == Int16(POLLOUT) else { return }
        _ = Foundation.write(STDERR_FILENO, showing, showing.utf8.count)
    }

    private static let hiding = "\u{1B}[?25l"
    private static let showing = "\u{1B}[?25h"
}
