import Foundation
import HaulAria2
import HaulKit
import HaulServer
import Synchronization

/// aria2's messages, on the console and in the file of `--log`.
final class Aria2Log: Sendable {
    enum Level: Int, Sendable, Comparable {
        case debug, info, notice, warn, error

        init(_ name: String?) {
            self =
                switch name {
                case "debug": .debug
                case "info": .info
                case "warn": .warn
                case "error": .error
                default: .notice
                }
        }

        static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }

        var name: String { "\(self)".uppercased() }

        fileprivate var colour: String {
            switch self {
            case .debug: "\u{1B}[1;37m"
            case .info: "\u{1B}[1;36m"
            case .notice: "\u{1B}[1;32m"
            case .warn: "\u{1B}[1;33m"
            case .error: "\u{1B}[1;31m"
            }
        }
    }

    /// Standard output, or standard error with `--stderr`.
    let descriptor: Int32
    private let level: Level
    private let fileLevel: Level
    let isQuiet: Bool
    let isColoured: Bool
    /// The file of `--log`; -1 for none.
    private let file: Int32
    /// Whether a progress line is on the screen.
    private let hasReadout = Mutex(false)

    init(_ options: Aria2Options) {
        let path = options["log"] ?? ""
        descriptor = options.flag("stderr") ? STDERR_FILENO : STDOUT_FILENO
        isQuiet = options.flag("quiet")
        level = Level(options["console-log-level"])
        fileLevel = options["log-level"] == nil ? .debug : Level(options["log-level"])
        isColoured = options["enable-color"] != "false" && isatty(descriptor) == 1
        switch path {
        case "": file = -1
        case "-": file = STDOUT_FILENO
        default: file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        }
        if !path.isEmpty, file < 0 { write(.error, "Failed to open the file \(path) for the log.") }
    }

    deinit { if file > STDERR_FILENO { close(file) } }

    func write(_ level: Level, _ text: String) {
        let text = text.split(separator: "\n", omittingEmptySubsequences: false)
            .map { VisibleText.line(String($0)) }.joined(separator: "\n")
        if !isQuiet, level >= self.level {
            let name = isColoured ? "\(level.colour)\(level.name)\u{1B}[0m" : level.name
            printed("\n\(Self.stamp("%m/%d %H:%M:%S")) [\(name)] \(text)\n")
        }
        if file >= 0, level >= fileLevel {
            let line = "\(Self.stamp("%Y-%m-%d %H:%M:%S")) [\(level.name)] \(text)\n"
            // Ignores errors, because a full disk or a closed pipe must not stop a download.
            _ = line.utf8.withContiguousStorageIfAvailable { Foundation.write(file, $0.baseAddress, $0.count) }
        }
    }

    /// Prints a text on the console without time and level, such as the table of results.
    func printed(_ text: String) {
        guard !isQuiet else { return }
        hasReadout.withLock { hasReadout in
            let text = hasReadout ? "\r\u{1B}[K" + text : text
            hasReadout = false
            Output.put(text, to: descriptor)
        }
    }

    /// Replaces the progress line of the terminal.
    func readout(_ text: String) {
        hasReadout.withLock { hasReadout in
            hasReadout = true
            Output.put("\r\u{1B}[K" + text, to: descriptor, .progress(of: "readout"))
        }
    }

    /// Formats the local time with a format of strftime(3).
    static func stamp(_ form: String) -> String {
        var (now, parts) = (time(nil), tm())
        guard localtime_r(&now, &parts) != nil else { return "" }
        var buffer = [CChar](repeating: 0, count: 64)
        let count = strftime(&buffer, buffer.count, form, &parts)
        return String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
