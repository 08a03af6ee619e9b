import Foundation
import Testing

@testable import HaulAria2
@testable import HaulServer

/// Tests that docs/aria2.md describes each option as the table of options does.
@Suite struct Aria2TablePageTests {
    private static func line(_ option: Aria2Option) -> String {
        let short = option.short.map { ", `-\($0)`" } ?? ""
        return switch option.effect {
        case .applied(let text): "| `\(option.name)`\(short) | \(text) |"
        case .ignored(let reason): "| `\(option.name)`\(short) | *ignored:* \(reason) |"
        }
    }

    @Test func thePageAndTheTableAgree() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../..")
        let page = try String(contentsOf: root.appendingPathComponent("docs/aria2.md"), encoding: .utf8)
        let lines = page.split(separator: "\n").filter { $0.contains(/^\| `[a-z0-9-]+`(, `-.`)? \|/) }.map(String.init)
        let expected = Aria2Option.all.map(Self.line)
        #expect(Set(expected).subtracting(lines).sorted() == [], "options that the page lacks")
        #expect(Set(lines).subtracting(expected).sorted() == [], "lines that the table lacks")
        #expect(lines.count == expected.count)
    }
}
