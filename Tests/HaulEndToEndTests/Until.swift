import Foundation

/// Waits for something that is bound to happen; the suite's time limit is the deadline.
func until(_ condition: () throws -> Bool) async throws {
    while try !condition() { try await Task.sleep(for: .milliseconds(10)) }
}

/// Waits until a program has written a text into a file.
func until(_ file: String, holds text: String) async throws {
    try await until { FileManager.default.contents(atPath: file)?.contains(text) ?? false }
}
