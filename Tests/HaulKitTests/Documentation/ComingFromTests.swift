import Foundation
import Testing

/// `docs/coming-from.md`: no row of the systems that it answers is missing, and each test that it names is there.
struct ComingFromTests {
    /// How many rows each system has.
    private static let rows = ["T": 49, "Y": 29, "W": 22, "M": 10, "A": 6]

    private let text: String

    init() throws {
        text = try String(contentsOf: Checkout.root.appendingPathComponent("docs/coming-from.md"), encoding: .utf8)
    }

    /// The lines of the five tables, by row.
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
