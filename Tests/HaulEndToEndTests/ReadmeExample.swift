import Foundation

/// Returns whether the README contains the example of `file` verbatim. The example is everything from the function
/// `fetch` on.
func readmeHolds(exampleOf file: String) throws -> Bool {
    let source = try String(contentsOfFile: file, encoding: .utf8)
    guard let start = source.range(of: "\nfunc fetch(") else { return false }
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
    let readme = try String(contentsOf: root.appendingPathComponent("README.md"), encoding: .utf8)
    return readme.contains("```swift\nimport Foundation\nimport HaulKit\n" + source[start.lowerBound...] + "```")
}
