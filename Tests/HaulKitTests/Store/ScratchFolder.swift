import Foundation

/// A folder of its own for a test; gone with its last reference.
final class ScratchFolder: Sendable {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.appendingPathComponent("haul-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit {
        do { try FileManager.default.removeItem(atPath: path) } catch { print("left behind: \(path)") }
    }

    func callAsFunction(_ name: String) -> String { path + "/" + name }

    func permissions(of name: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: self(name))[.posixPermissions] as? Int
    }
}
