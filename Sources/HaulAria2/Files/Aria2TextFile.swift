internal import Foundation
internal import HaulKit

/// Reads a text file of a user or another program: limits its size, and returns bytes.
enum Aria2TextFile {
    /// Returns the text of a line that sets an option.
    ///
    /// - Throws: ``Aria2Error`` with code ``Aria2ErrorCode/badOption`` for bytes that are not UTF-8, because they may
    ///   belong to a path.
    static func option(_ line: some Collection<UInt8>) throws(Aria2Error) -> String {
        if let text = PathText.text(line) { return text }
        throw Aria2Error(.badOption, PathText.refusal("A line of options", line).message)
    }

    /// - Parameter path: path of the file; `-` for standard input.
    /// - Throws: ``Aria2Error`` if the file is unreadable or larger than `limit` bytes.
    static func contents(_ path: String, limit: Int) throws(Aria2Error) -> Data {
        do {
            let handle =
                path == "-" ? FileHandle.standardInput : try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
            var data = Data()
            while data.count <= limit, let part = try handle.read(upToCount: 1 << 16), !part.isEmpty { data += part }
            guard data.count <= limit else {
                throw Aria2Error(.unknown, "The file \(path) has more than \(limit) bytes.")
            }
            return data
        } catch let error as Aria2Error { throw error } catch {
            throw Aria2Error(.unknown, "Failed to open the file \(path), cause: File not found or it is a directory")
        }
    }
}
