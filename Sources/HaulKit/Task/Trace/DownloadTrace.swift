internal import Dispatch
internal import Foundation
internal import Synchronization

/// Records every event of every download and the actions that its machine returned, as lines of JSON in a file, so that the run
/// can be replayed: see `docs/design.md`.
///
/// Lines are masked, encoded and written on a queue of its own; ``record(_:)`` never waits. Where the disk does not keep up or
/// refuses, the trace ends early and can be replayed as far as it goes. Secrets are masked: ``TraceMask``.
package final class DownloadTrace: Sendable {
    private struct Waiting {
        var lines: [TraceLine] = []
        var isDraining = false
        /// No further line is taken.
        var isEnded = false
        /// Why it ended early.
        var failure: String?
    }

    private struct File {
        let descriptor: Int32
        /// Bytes of whole lines.
        var count: Int64 = 0
        var mask = TraceMask()
        var isOpen = true
    }

    private let path: String
    private let mostLines: Int
    private let waiting = Mutex(Waiting())
    private let file: Mutex<File>
    private let queue = DispatchQueue(label: "haul.trace", qos: .utility)

    /// Lines that may wait to be written: about 16 MiB.
    private static let mostLines = 16_384

    /// Creates the file, readable by its owner only, or replaces an earlier trace.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/fileExists`` when another file has the path, or with the
    ///   code of what the file system refused.
    package convenience init(path: String) throws(DownloadError) {
        do {
            // Without O_NONBLOCK a named pipe would be waited for.
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

    /// - Parameter descriptor: of a file that is open for writing; closed by this trace.
    init(descriptor: Int32, path: String, mostLines: Int = mostLines) {
        self.path = path
        self.mostLines = mostLines
        file = Mutex(File(descriptor: descriptor))
        queue.async { [self] in write([TraceHeader()]) { header, _ in header } }
    }

    deinit { _ = closeFile() }

    /// A download was loaded.
    func record(_ id: DownloadID, _ initial: DownloadMachine.Initial) {
        record(TraceLine(id: id, machine: initial))
    }

    /// Its machine handled an event.
    func record(_ id: DownloadID, _ step: TraceLine.Step) { record(TraceLine(id: id, step: step)) }

    /// Takes a line; returns at once.
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

    /// Writes what waits and closes the file. Lines that are recorded later are ignored.
    ///
    /// - Returns: a sentence that says why the trace is incomplete; `nil` when it is complete.
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
            // The mask of the trace has replaced every secret, and equal ones by equal names.
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
                // The part of a line that was written; without it the rest can be replayed.
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

    /// - Returns: false when the system reports that something was not written.
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

    /// Empties a file that begins as a trace does. Any other is not touched.
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
