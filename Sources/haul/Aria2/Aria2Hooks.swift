import CHaulSystem
import Foundation
import HaulAria2
import HaulKit
import HaulServer

/// aria2's `--on-download-…` programs: called with GID, number of files and path.
struct Aria2Hooks: Sendable {
    enum Event: String, Sendable {
        case start = "on-download-start"
        case pause = "on-download-pause"
        case stop = "on-download-stop"
        case complete = "on-download-complete"
        case error = "on-download-error"
    }

    private let programs: [String: String]
    private let log: Aria2Log

    init(_ options: Aria2Options, _ log: Aria2Log) {
        self.log = log
        let events = [Event.start, .pause, .stop, .complete, .error].map(\.rawValue)
        programs = events.reduce(into: [:]) { programs, name in
            if let program = options[name], !program.isEmpty { programs[name] = program }
        }
    }

    var isEmpty: Bool { programs.isEmpty }

    /// Starts the program of an event, and does not wait for its end. If `complete` or `error` has no program, starts
    /// the program of `stop`.
    func run(_ event: Event, _ gid: GID, path: String?) {
        var program = programs[event.rawValue]
        if program == nil, event == .complete || event == .error { program = programs[Event.stop.rawValue] }
        guard let program else { return }
        // An HTTP download is always one file, even before its name is known.
        let words = [gid.description, "1", path ?? ""]
        guard let file = Self.found(program, ProcessInfo.processInfo.environment["PATH"]) else {
            log.write(.error, "There is no program \(program) for \(event.rawValue).")
            return
        }
        let code = Self.spawn(file, words)
        if code != 0 { log.write(.error, "\(program) cannot be run: \(String(cString: strerror(code)))") }
    }

    /// Returns `program` itself if it has a slash, else the first executable file of that name in the folders of
    /// `PATH`.
    static func found(_ program: String, _ path: String?) -> String? {
        if program.contains("/") { return program }
        return (path ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":").map { "\($0)/\(program)" }
            .first { access($0, X_OK) == 0 }
    }

    /// Starts a program with the standard output and the standard error of this process.
    private static func spawn(_ path: String, _ words: [String]) -> Int32 {
        var process: Int32 = 0
        let code = SystemProgram.start(path, words, outputs: [STDOUT_FILENO, STDERR_FILENO], &process)
        guard code == 0 else { return code }
        // If no thread can be started, the ID of the ended program stays taken until this process ends. A few such IDs
        // do no harm.
        _ = DetachedThread.start { [process] in
            _ = haul_await_end(process)
            _ = haul_reap(process)
        }
        return 0
    }
}
