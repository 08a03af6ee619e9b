import Foundation
import HaulKit

/// A file that an option names: a regular file, a pipe as in `<(command)`, or standard input.
enum OptionFile {
    /// Sizes above which a file is refused.
    struct Limits {
        var bytes: Int
        /// Largest number of bytes from one line break to the next.
        var line: Int
    }

    /// Reads a file of lines to its end.
    ///
    /// - Throws: ``Complaint`` with status 64, also if the file or one of its lines exceeds a limit.
    static func contents(_ path: String, _ limits: Limits) throws -> Data {
        try reading(path) { try contents(of: $0, called: SetSourceText.shown(path), limits) }
    }

    /// Reads standard input to its end, even if another program has made it non-blocking.
    static func standardInput(_ limits: Limits) throws -> Data {
        try contents(of: STDIN_FILENO, called: "Standard input", limits)
    }

    private static func contents(of descriptor: Int32, called name: String, _ limits: Limits) throws -> Data {
        var line = 0
        let data = try contents(of: descriptor, called: name, limits.bytes) { part in
            let last = part.lastIndex(of: UInt8(ascii: "\n"))
            line = last.map { part.endIndex - $0 - 1 } ?? line + part.count
            return line <= limits.line
        }
        if line > limits.line {
            throw Complaint("\(name) is no list: a line of it has more than \(limits.line) bytes.", .usage)
        }
        if data.count > limits.bytes {
            throw Complaint("\(name) is no list: it has more than \(limits.bytes) bytes.", .usage)
        }
        return data
    }

    /// Reads a file of any kind except a folder to its end.
    ///
    /// - Parameter limit: reading stops as soon as more than `limit` bytes are read, because `path` may name a disk or
    ///   an endless device. The result is then longer than `limit`.
    /// - Throws: ``Complaint`` with status 64.
    static func contents(_ path: String, limit: Int = .max) throws -> Data {
        try reading(path) { try contents(of: $0, called: SetSourceText.shown(path), limit) }
    }

    private static func reading(_ path: String, _ body: (Int32) throws -> Data) throws -> Data {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw complaint(SetSourceText.shown(path), errno) }
        defer { close(descriptor) }
        return try body(descriptor)
    }

    /// - Parameter goesOn: called with each part that was read; `false` ends the reading.
    static func contents(
        of descriptor: Int32,
        called name: String,
        _ limit: Int = .max,
        while goesOn: (ArraySlice<UInt8>) -> Bool = { _ in true }
    ) throws -> Data {
        var data = Data()
        var buffer = [UInt8](repeating: 0, count: 1 << 18)
        reading: while data.count <= limit {
            let count = buffer.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
            if count == 0 { break }
            if count > 0 {
                data.append(contentsOf: buffer[..<count])
                guard goesOn(buffer[..<count]) else { break reading }
                continue
            }
            switch errno {
            case EINTR: break
            case EAGAIN:
                // Waits for data, because another process that shares the descriptor has made it non-blocking.
                var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                guard poll(&ready, 1, -1) >= 0 || errno == EINTR else { throw complaint(name, errno) }
            case let code: throw complaint(name, code)
            }
        }
        return data
    }

    private static func complaint(_ name: String, _ code: Int32) -> Complaint {
        Complaint("\(name) cannot be read. (\(String(cString: strerror(code))))", .usage)
    }
}
