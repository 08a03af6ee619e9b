import Foundation
import HaulFleet

/// Writes lines for people to standard error and lines for programs to standard output.
enum FleetOutput {
    static let isTerminal = isatty(STDERR_FILENO) == 1
    /// Whether standard output is a terminal that can be cleared.
    static let showsScreens = isatty(STDOUT_FILENO) == 1

    /// Writes a line of a command's result. Ends the process if the write fails, because an empty result would have
    /// another meaning.
    static func line(_ text: String) {
        guard !write(Array((text + "\n").utf8), to: STDOUT_FILENO) else { return }
        let code = errno
        // The reader has ended and needs no more lines.
        guard code != EPIPE else { _exit(FleetExitStatus.otherFailure.rawValue) }
        error("The output cannot be written: \(String(cString: strerror(code))).")
        _exit(FleetExitStatus.disk.rawValue)
    }

    /// Replaces a file by one with this text. Readers see the old file or the new one, never a part.
    ///
    /// - Throws: ``FleetError`` with code `disk`.
    static func replace(_ path: String, with text: String) throws(FleetError) {
        do { try Data((text + "\n").utf8).write(to: URL(fileURLWithPath: path), options: .atomic) } catch {
            throw FleetError(.disk, "\(path) cannot be written: \(FileReason.text(error)).")
        }
    }

    static func note(_ text: String) { write(text + "\n", to: STDERR_FILENO) }
    static func error(_ text: String) { write("haul-fleet: \(text)\n", to: STDERR_FILENO) }

    /// Replaces the last line of the terminal.
    static func progress(_ text: String) { write("\r\u{1B}[K" + text, to: STDERR_FILENO) }

    static func clear() { write("\u{1B}[H\u{1B}[J", to: STDOUT_FILENO) }

    /// Replaces the control characters of a text from a list or a server, because a terminal could execute them.
    static func plain(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { $0.properties.generalCategory == .control ? "\u{FFFD}" : $0 }
            )
        )
    }

    /// Ignores a failed write, for example to a reader that has ended or on a full disk, because nothing depends on the
    /// text.
    private static func write(_ text: String, to descriptor: Int32) { _ = write(Array(text.utf8), to: descriptor) }

    /// Writes all bytes. Returns `false` and leaves the reason in `errno` if the write fails.
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
