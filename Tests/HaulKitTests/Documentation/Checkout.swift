import Foundation

/// The files of this checkout, for the tests of its documents.
enum Checkout {
    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../..").standardizedFileURL

    /// Returns the sources of the tests by the names of the types that they declare or extend.
    static func suites() throws -> [String: String] {
        let folder = root.appendingPathComponent("Tests")
        let files = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
        var sources: [String: String] = [:]
        for file in files where file.hasSuffix(".swift") {
            let source = try String(contentsOf: folder.appendingPathComponent(file), encoding: .utf8)
            for suite in source.matches(of: /(?:struct|class|extension|enum) (\w+)/) {
                sources[String(suite.1), default: ""] += source
            }
        }
        return sources
    }
}
