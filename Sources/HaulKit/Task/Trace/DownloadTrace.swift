internal import Dispatch
internal import Foundation
internal import Synchronization

/// Records every event of every download with the actions that its machine returned, as lines of JSON in a file. The
/// run can be replayed from the file: see `docs/design/machine.md`.
///
/// The trace masks, encodes and writes the lines on its own dispatch queue, so ``record(_:)`` never waits. If the disk
/// is too slow or refuses a write, the trace ends early and can be replayed up to there. ``TraceMask`` masks secrets.
package final class DownloadTrace: Sendable {
    private struct Waiting {
        var lines: [TraceLine] = []
        var isDraining = false
        /// Whether the trace takes no more lines.
        var isEnded = false
        /// Reason why the trace ended early.
        var failure: String?
    }

    private struct File {
        let descriptor: Int32
        /// Number of bytes in complete lines.
        var count: Int64 = 0
        var mask = TraceMask()
        var isOpen = true
    }

    private let path: String
    private let mostLines: Int
    private let waiting = Mutex(Waiting())
    private let file: Mutex<File>
    private let queue = DispatchQueue(label: "haul.trace", qos: .utility)

    /// Most lines that may wait to be written: about 16 MiB.
    private static let mostLines = 16_384

    /// Creates the file, readable by its owner only, or replaces an earlier trace.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/fileExists`` when another file has the path, or with
    ///   the code for the error of the file system.
    package convenience init(path: String) throws(DownloadError) {
        do {
            // Without `O_NONBLOCK` the call would wait on a named pipe.
            let flags = O_RDWR | O_CREAT | O_NONBLOCK | O_CLOEXEC
            let descriptor = try SystemCalls.open(path, flags, mode: 0o600)
            do { try Self.makeEmpty(descriptor, path) } catch {
                SystemCalls.close(descriptor)
                throw error
            }
            self.init(descriptor: descriptor, path: path)
        } catch let error as SystemCalls.Errno {
            throw DownloadError(DiskError(errno: error.code, call: "open", path: path))
        } catch let error as DownloadError {
            throw error
        } catch {
            throw DownloadError(.diskFailed, "\(path) cannot be opened.", cause: "\(error)")
        }
    }

    /// - Parameter descriptor: a descriptor that is open for writing. The trace closes it.
    init(descriptor: Int32, path: String, mostLines: Int = mostLines) {
        self.path = path
        self.mostLines = mostLines
        file = Mutex(File(descriptor: descriptor))
        queue.async { [self] in write([TraceHeader()]) { header, _ in header } }
    }

    deinit { _ = closeFile() }

    /// Records that a download was loaded.
    func record(_ id: DownloadID, _ initial: DownloadMachine.Initial) {
        record(TraceLine(id: id, machine: initial))
    }

    /// Records an event that the machine of a download handled.
    func record(_ id: DownloadID, _ step: TraceLine.Step) { record(TraceLine(id: id, step: step)) }

    /// Adds a line to the waiting ones. Returns at once.
    private func record(_ line: TraceLine) {
        let isFirst = waiting.withLock { waiting in
            guard !waiting.isEnded else { return false }
            guard waiting.lines.count < mostLines else {
                waiting.isEnded = true
                waiting.failure = waiting.failure ?? "the disk is too slow"
                return false
            }
            waiting.lines.append(line)
            defer { waiting.isDraining = true }
            return !waiting.isDraining
        }
        if isFirst { queue.async { [self] in drain() } }
    }

    /// Writes the waiting lines and closes the file. Later lines are ignored.
    ///
    /// - Returns: a sentence with the reason why the trace is incomplete; `nil` if it is complete.
    package func close() async -> String? {
        await withCheckedContinuation { continuation in
            queue.async { [self] in
                drain()
                let isClosed = closeFile()
                let failure = waiting.withLock { waiting in
                    waiting.isEnded = true
                    return waiting.failure
                }
                let reason = failure ?? (isClosed ? nil : "the file could not be closed")
                continuation.resume(returning: reason.map { "The trace \(path) is incomplete: \($0)." })
            }
        }
    }

    private func drain() {
        while true {
            let lines = waiting.withLock { waiting in
                defer { waiting.lines = [] }
                if waiting.lines.isEmpty { waiting.isDraining = false }
                return waiting.lines
            }
            if lines.isEmpty { return }
            write(lines) { line, mask in mask.masked(line) }
        }
    }

    private func write<Line: Encodable>(_ lines: [Line], _ masked: (Line, inout TraceMask) -> Line) {
        let failure: String? = file.withLock { file in
            guard file.isOpen else { return nil }
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            // `TraceMask` has already replaced every secret, and equal secrets by equal names.
            encoder.userInfo[.keepsSecrets] = true
            var bytes: [UInt8] = []
            do {
                for line in lines {
                    bytes += try encoder.encode(masked(line, &file.mask))
                    bytes.append(UInt8(ascii: "\n"))
                }
                try Self.write(bytes, to: file.descriptor)
                file.count += Int64(bytes.count)
                return nil
            } catch {
                // Removes the incomplete line, so that the lines before it can be replayed.
                do throws(SystemCalls.Errno) { try SystemCalls.truncate(file.descriptor, file.count) } catch {}
                SystemCalls.close(file.descriptor)
                file.isOpen = false
                guard let code = (error as? SystemCalls.Errno)?.code else { return "a line could not be encoded" }
                return SystemCalls.describe(errno: code)
            }
        }
        guard let failure else { return }
        waiting.withLock { waiting in
            waiting.isEnded = true
            waiting.lines = []
            waiting.failure = waiting.failure ?? failure
        }
    }

    /// - Returns: `false` if the system reports that bytes were not written.
    private func closeFile() -> Bool {
        file.withLock { file in
            guard file.isOpen else { return true }
            file.isOpen = false
            return SystemCalls.close(file.descriptor)
        }
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32) throws(SystemCalls.Errno) {
        var rest = bytes[...]
        while !rest.isEmpty { rest = rest.dropFirst(try SystemCalls.write(descriptor, rest)) }
    }

    /// Empties a file that begins as a trace does. Does not touch any other file.
    private static func makeEmpty(_ descriptor: Int32, _ path: String) throws {
        let status = try SystemCalls.status(descriptor)
        guard status.kind == .file else { throw DownloadError(DiskError(.notAFile, call: "open", path: path)) }
        guard status.size > 0 else { return }
        var start = [UInt8](repeating: 0, count: beginning.count)
        let count = try start.withUnsafeMutableBytes { buffer throws(SystemCalls.Errno) in
            try SystemCalls.read(descriptor, into: buffer, at: 0)
        }
        guard start.prefix(count).elementsEqual(beginning) else {
            throw DownloadError(.fileExists, "\(path) exists already and is not a trace.")
        }
        try SystemCalls.truncate(descriptor, 0)
    }

    private static let beginning = Array(#"{"haulTrace":"#.utf8)
}
