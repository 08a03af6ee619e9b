internal import Foundation

/// A file of text that a person or another program wrote: bounded, and its lines as bytes.
enum Aria2TextFile {
    /// - Parameter path: `-` for standard input.
    /// - Throws: ``Aria2Error`` where the file cannot be read, or has more bytes than `limit`.
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
