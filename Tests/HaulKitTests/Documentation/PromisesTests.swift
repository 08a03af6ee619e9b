import Foundation
import Testing

/// Checks that the README quotes `docs/promises.md` word for word, and that each suite named there exists.
struct PromisesTests {
    private let promises: String
    private let readme: String

    init() throws {
        promises = try String(contentsOf: Checkout.root.appendingPathComponent("docs/promises.md"), encoding: .utf8)
        readme = try String(contentsOf: Checkout.root.appendingPathComponent("README.md"), encoding: .utf8)
    }

    /// Returns the text without line breaks and quotation marks of Markdown.
    private static func plain(_ text: some StringProtocol) -> String {
        text.split(separator: "\n").map { $0.drop { "> ".contains($0) } }.joined(separator: " ")
            .replacing("**", with: "").replacing(#/ +/#, with: " ")
    }

    private var quotes: [String] {
        promises.split(separator: "\n\n").filter { $0.hasPrefix(">") }.map(Self.plain)
    }

    @Test func areQuotedInTheReadme() {
        #expect(quotes.count == 8)
        let readme = Self.plain(readme)
        #expect(quotes.filter { !readme.contains($0) } == [])
    }

    @Test func nameOnlySuitesThatAreThere() throws {
        let named = Set(promises.matches(of: /`(\w+Tests)`/).map { String($0.1) })
        #expect(named.count > 40)
        #expect(named.subtracting(try Checkout.suites().keys) == [])
    }
}
