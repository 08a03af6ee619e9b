import Foundation

/// The terminal behind standard error.
enum Terminal {
    static var isInteractive: Bool {
        isatty(STDERR_FILENO) == 1 && ProcessInfo.processInfo.environment["TERM"] != "dumb"
    }

    /// False in the background, where the terminal is the shell's.
    static var isOurs: Bool {
        let group = tcgetpgrp(STDERR_FILENO)
        // Not that of our session, and so no shell's of it either.
        return group < 0 || group == getpgrp()
    }

    /// Columns and rows now; they change when the window does.
    static var size: (columns: Int, rows: Int) {
        var size = winsize()
        guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return (80, 24)
        }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    static func hideCursor() { Output.write(hiding) }
    /// Leaves the terminal as it was found; harmless when nothing was changed.
    static func restore() { if isInteractive { Output.write(showing) } }

    /// The same past everything that waits to be printed, where the terminal takes it without waiting.
    static func restoreAtOnce() {
        FullScreen.leaveAtOnce()
        var ready = pollfd(fd: STDERR_FILENO, events: Int16(POLLOUT), revents: 0)
        guard isInteractive, poll(&ready, 1, 0) == 1, ready.revents == Int16(POLLOUT) else { return }
        _ = Foundation.write(STDERR_FILENO, showing, showing.utf8.count)
    }

    private static let hiding = "\u{1B}[?25l"
    private static let showing = "\u{1B}[?25h"
}
