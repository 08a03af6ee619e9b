import Foundation
import HaulFleet

/// A list in a file, which gzip or Zstandard may have compressed, or on standard input.
struct ListFile {
    /// Open for reading; gives the list itself.
    let descriptor: Int32
    private let file: Int32?
    private let unpacking: Unpacking?

    /// The programs that unpack a list, by the first bytes of a file (RFC 1952 §2.3.1, RFC 8878 §3.1.1).
    private static let programs: [(program: String, magic: [UInt8])] = [
        ("gzip", [0x1F, 0x8B]), ("zstd", [0x28, 0xB5, 0x2F, 0xFD]),
    ]

    private struct Unpacking {
        let program: String
        let process: Process
        let output: Pipe
    }

    /// - Parameter path: the file; `-` for standard input.
    init(_ path: String) throws {
        guard path != "-" else {
            (descriptor, file, unpacking) = (STDIN_FILENO, nil, nil)
            return
        }
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else {
            throw FleetError(.invalidInput, "\(path) cannot be opened: \(String(cString: strerror(errno))).")
        }
        self.file = file
        guard let program = Self.program(for: file) else {
            (descriptor, unpacking) = (file, nil)
            return
        }
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [program, "-dc"]
        process.standardInput = FileHandle(fileDescriptor: file)
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        do { try process.run() } catch {
            close(file)
            throw FleetError(.invalidInput, "\(path) cannot be unpacked: \(program) cannot be started.")
        }
        descriptor = output.fileHandleForReading.fileDescriptor
        unpacking = Unpacking(program: program, process: process, output: output)
    }

    /// Returns the program that unpacks the file; `nil` for a file that is not compressed, or is no regular file.
    private static func program(for file: Int32) -> String? {
        var start = [UInt8](repeating: 0, count: 4)
        let count = pread(file, &start, start.count, 0)
        guard count > 0 else { return nil }
        return programs.first { start.prefix(count).starts(with: $0.magic) }?.program
    }

    /// Checks at the end of the list that all of it was unpacked.
    @Sendable func checkEnd() throws(FleetError) {
        guard let unpacking else { return }
        unpacking.process.waitUntilExit()
        switch unpacking.process.terminationStatus {
        case 0: return
        case 127: throw FleetError(.invalidInput, "The list is compressed, and \(unpacking.program) is not installed.")
        default:
            throw FleetError(.invalidInput, "The list is damaged: \(unpacking.program) cannot unpack the rest of it.")
        }
    }

    func end() {
        if let file { close(file) }
        guard let unpacking else { return }
        // A program that still writes ends with the pipe.
        try? unpacking.output.fileHandleForReading.close()
        unpacking.process.waitUntilExit()
    }
}
