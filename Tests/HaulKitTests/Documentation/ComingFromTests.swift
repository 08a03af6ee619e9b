import Foundation
import Testing

/// Checks that `docs/coming-from.md` answers every row of the other systems, and that each named test exists.
struct ComingFromTests {
    /// Number of rows of each system.
    private static let rows = ["T": 49, "Y": 29, "W": 22, "M": 10, "A": 6]

    private let text: String

    init() throws {
        text = try String(contentsOf: Checkout.root.appendingPathComponent("docs/coming-from.md"), encoding: .utf8)
    }

    /// The rows of the five tables with their cells, in the order of the document.
    private var lines: [(row: String, cells: [Substring])] {
        text.split(separator: "\n").compactMap { line in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces)[...] }
            guard cells.count == 4, let row = cells.first, row.wholeMatch(of: /[TYWMA]\d+/) != nil else { return nil }
            return (String(row), cells)
        }
    }

    @Test func answersEveryRowOnceAndInOrder() {
        let expected = ["T", "Y", "W", "M", "A"].flatMap { system in
            (1...(Self.rows[system] ?? 1)).map { "\(system)\($0)" }
        }
        #expect(lines.map(\.row) == expected)
        #expect(lines.allSatisfy { line in line.cells.allSatisfy { !$0.isEmpty } })
    }

    @Test func namesOnlyTestsThatAreThere() throws {
        let sources = try Checkout.suites()
        let named = Set(lines.flatMap { ($0.cells.last ?? "").matches(of: /`(\w+)\.(\w+)`/).map { "\($0.1).\($0.2)" } })
        #expect(named.count > 100)
        let missing = named.filter { name in
            let parts = name.split(separator: ".")
            return sources[String(parts[0])]?.contains("func \(parts[1])(") != true
        }
        #expect(missing.isEmpty)
    }
}
