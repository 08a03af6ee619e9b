import Foundation
import HaulTesting

/// Waits until `condition` holds. The time limit of the suite is the deadline.
func until(_ condition: () throws -> Bool) async throws {
    while try !condition() { try await Task.sleep(for: .milliseconds(10)) }
}

/// Waits until the file contains the text.
func until(_ file: String, holds text: String) async throws {
    try await until { FileManager.default.contents(atPath: file)?.contains(text) ?? false }
}

/// Waits until the file begins with the first `count` bytes of the content.
func until(_ file: String, beginsWith count: Int64, of content: TestContent) async throws {
    let bytes = content.bytes(0..<count)
    try await until {
        guard let handle = FileHandle(forReadingAtPath: file) else { return false }
        defer { try? handle.close() }  // Opened for reading: nothing can be lost.
        return try handle.read(upToCount: Int(count)).map(Array.init) == bytes
    }
}
