import Foundation

/// Whether the README has the example of a test's file, which is all that follows from its first function on, to the letter.
func readmeHolds(exampleOf file: String) throws -> Bool {
    let source = try String(contentsOfFile: file, encoding: .utf8)
    guard let start = source.range(of: "\nfunc fetch(") else { return false }
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
    let readme = try String(contentsOf: root.appendingPathComponent("README.md"), encoding: .utf8)
    return readme.contains("```swift\nimport Foundation\nimport HaulKit\n" + source[start.lowerBound...] + "```")
}
