import Foundation
import Testing

/// Tests that `haul help` and the manual page have the same options in the same groups and order.
@Suite(.timeLimit(.minutes(60)))
struct HelpTests {
    private struct Group: Equatable {
        var title: String
        var options: [String] = []
    }

    let haul: HaulCommand

    init() throws { haul = try HaulCommand() }

    /// Returns the titled groups of a help text. Options without a title of their own are in `OPTIONS`.
    private func groups(of command: String) async throws -> [Group] {
        let result = try await haul.run("help", command)
        #expect(result.status == 0)
        var groups: [Group] = []
        for line in result.output.split(separator: "\n") {
            if let title = line.wholeMatch(of: /([A-Z][A-Z, ]+):/) {
                groups.append(Group(title: String(title.1)))
            } else if let option = line.prefixMatch(of: #/  (?:-\w, )?--([a-z0-9-]+)/#), !groups.isEmpty {
                groups[groups.count - 1].options.append(String(option.1))
            }
        }
        return groups.filter { !$0.options.isEmpty }
    }

    private func page() throws -> String {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../..")
        return try String(contentsOf: root.appendingPathComponent("docs/haul.1"), encoding: .utf8)
    }

    /// Returns the groups of the manual page. The last group, `Output`, has no title in the help text.
    private func manual() throws -> [Group] {
        let options = try page().split(separator: ".SH OPTIONS\n").last?.split(separator: ".SH HOOKS").first ?? ""
        return options.split(separator: ".SS ").map { text in
            let title = text.prefix { $0 != "\n" }
            let heads = text.split(separator: ".TP\n").dropFirst().map { $0.prefix { $0 != "\n" } }
            let names = heads.flatMap { $0.matches(of: /\\-\\-([a-z0-9\\-]+)/) }
            return Group(title: title.uppercased(), options: names.map { String($0.1).replacing("\\", with: "") })
        }
    }

    @Test func theManualHasTheGroupsOfGetInTheirOrder() async throws {
        var help = try await groups(of: "get")
        let rest = try #require(help.last)
        help.removeLast()
        help.append(Group(title: "OUTPUT", options: rest.options.filter { !["version", "help"].contains($0) }))
        var manual = try manual()
        for index in manual.indices { manual[index].options.removeAll { $0 == "url" } }
        #expect(manual == help)
        #expect(help.count == 9)
    }

    @Test func theManualHasEveryOptionOfRepair() async throws {
        let manual = Set(try manual().flatMap(\.options))
        let help = Set(try await groups(of: "repair").flatMap(\.options))
        #expect(help.subtracting(["version", "help"]).subtracting(manual) == [])
        #expect(help.contains("url"))
    }

    @Test func theManualHasEveryOptionOfSync() async throws {
        let help = Set(try await groups(of: "sync").flatMap(\.options))
        let sets = try page().split(separator: ".SH SETS\n").last?.split(separator: ".SH LINKS").first ?? ""
        let names = Set(sets.matches(of: /\\-\\-([a-z0-9\\-]+)/).map { String($0.1).replacing("\\", with: "") })
        let others = Set(try manual().flatMap(\.options))
        #expect(help.subtracting(["version", "help"]).subtracting(names).subtracting(others) == [])
        #expect(help.contains("receipt") && names.contains("receipt"))
    }

    @Test(arguments: [
        "serve", "add", "list", "show", "pause", "resume", "cancel", "remove", "move", "watch", "config", "open",
    ])
    func theManualHasEveryOptionOfTheDaemon(_ command: String) async throws {
        let help = try await haul.run("help", command)
        #expect(help.status == 0)
        let options = help.output.split(separator: "\n").compactMap { line in
            line.prefixMatch(of: #/  (?:-\w, )?--([a-z0-9-]+)/#).map { String($0.1) }
        }
        let manual = try page().split(separator: ".SH DAEMON\n").last?.split(separator: ".SH SIGNALS").first ?? ""
        let names = Set(manual.matches(of: /\\-\\-([a-z0-9\\-]+)/).map { String($0.1).replacing("\\", with: "") })
        #expect(Set(options).subtracting(["version", "help"]).subtracting(names) == [])
        #expect(manual.contains(command))
    }
}
