import Foundation

/// Lines for a person on standard error, and for programs on standard output.
enum Output {
    static let isTerminal = isatty(STDERR_FILENO) == 1
    /// Whether standard output is a terminal that can be cleared.
    static let showsScreens = isatty(STDOUT_FILENO) == 1

    /// A line of a command's answer. Where it cannot be written the command has failed: an empty answer would say something else.
    static func line(_ text: String) {
        guard !write(Array((text + "\n").utf8), to: STDOUT_FILENO) else { return }
        let code = errno
        // The reader has what it wanted.
        guard code != EPIPE else { _exit(ExitStatus.otherFailure.rawValue) }
        error("The output cannot be written: \(String(cString: strerror(code))).")
        _exit(ExitStatus.disk.rawValue)
    }
    static func note(_ text: String) { write(text + "\n", to: STDERR_FILENO) }
    static func error(_ text: String) { write("haul-fleet: \(text)\n", to: STDERR_FILENO) }

    /// Replaces the last line of a terminal.
    static func progress(_ text: String) { write("\r\u{1B}[K" + text, to: STDERR_FILENO) }

    static func clear() { write("\u{1B}[H\u{1B}[J", to: STDOUT_FILENO) }

    /// Text of a list or a server, without characters that a terminal would take for commands.
    static func plain(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { $0.properties.generalCategory == .control ? "\u{FFFD}" : $0 }
            )
        )
    }

    /// What cannot be written, because the reader has ended or the disk is full, is not written: nothing else hangs on it.
    private static func write(_ text: String, to descriptor: Int32) { _ = write(Array(text.utf8), to: descriptor) }

    /// - Returns: whether all of it was written; otherwise `errno` says why.
    static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }
}
