import Foundation

/// A file that an option names: a regular file, a pipe as in `<(command)`, or standard input.
enum OptionFile {
    /// Reads a file to its end; it may be any that can be read but a folder.
    ///
    /// - Parameter limit: reads no further than a part beyond these bytes: the path may be that of a disk, or of an endless device.
    /// - Throws: ``Complaint`` with status 64.
    static func contents(_ path: String, limit: Int = .max) throws -> Data {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw complaint(path, errno) }
        defer { close(descriptor) }
        return try contents(of: descriptor, called: path, limit)
    }

    /// Reads standard input to its end, also where another program has made it non-blocking.
    static func standardInput() throws -> Data {
        try contents(of: STDIN_FILENO, called: "Standard input")
    }

    static func contents(of descriptor: Int32, called name: String, _ limit: Int = .max) throws -> Data {
        var data = Data()
        var buffer = [UInt8](repeating: 0, count: 1 << 18)
        while data.count <= limit {
            let count = buffer.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
            if count == 0 { break }
            if count > 0 {
                data.append(contentsOf: buffer[..<count])
                continue
            }
            switch errno {
            case EINTR: break
            case EAGAIN:
                // Another process that shares the descriptor made it non-blocking: wait for data.
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
