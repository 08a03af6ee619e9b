import Foundation
import HaulCore
import HaulTesting
import Testing

@testable import HaulServer

/// Where a new download goes.
@Suite struct PlacementRulesTests {
    private let temporary: TemporaryFolder
    private let folders: AllowedFolders
    private let rules: PlacementRules

    init() throws {
        temporary = try TemporaryFolder()
        try FileManager.default.createDirectory(atPath: temporary("d"), withIntermediateDirectories: true)
        folders = AllowedFolders(folder: temporary("d"), roots: [temporary("r")])
        let list = """
            [{"hosts": ["a.org"], "connections": 2}, {"extensions": ["pdf"], "folder": "papers", "group": "Papers"},
             {"hosts": ["a.org"], "folder": "site", "group": "Site", "connections": 9},
             {"hosts": ["b.org"], "group": "Films"}]
            """
        rules = PlacementRules(
            rules: try PlacementRules.rules(try #require(JSONValue(text: list))),
            groups: ["Films": temporary("r/films"), "Site": "all"]
        )
    }

    private func place(_ url: String, folder: String? = nil, group: String? = nil) throws -> PlacementRules.Placement {
        try rules.placement(of: RuleTarget(try url.downloadURL()), folder: folder, group: group, in: folders)
    }

    private func folder(_ name: String) -> String {
        (AllowedFolders.resolved(temporary.path) ?? temporary.path) + "/" + name
    }

    @Test func eachChoiceComesFromTheFirstRuleThatHasIt() throws {
        #expect(
            try place("https://a.org/f.pdf") == .init(folder: folder("d/papers"), group: "Papers", connections: 2)
        )
        #expect(try place("https://a.org/f.zip") == .init(folder: folder("d/site"), group: "Site", connections: 2))
        #expect(try place("https://c.org/f.zip") == .init(folder: folder("d"), group: nil, connections: nil))
    }

    @Test func theFolderOfTheRequestTakesPrecedence() throws {
        #expect(
            try place("https://a.org/f.pdf", folder: "own")
                == .init(folder: folder("d/own"), group: "Papers", connections: 2)
        )
        #expect(try place("https://a.org/f.pdf", folder: "").folder == folder("d/papers"))
    }

    @Test func theGroupOfTheRequestTakesItsFolderAlong() throws {
        #expect(try place("https://a.org/f.pdf", group: "Films").folder == folder("r/films"))
        #expect(try place("https://a.org/f.pdf", group: "Films").group == "Films")
        // This group has no folder, so that of the rule stays.
        #expect(
            try place("https://a.org/f.pdf", group: "Other")
                == .init(folder: folder("d/papers"), group: "Other", connections: 2)
        )
    }

    @Test func aGroupOfARuleHasItsFolder() throws {
        #expect(try place("https://b.org/f") == .init(folder: folder("r/films"), group: "Films", connections: nil))
    }

    @Test(arguments: ["/etc", "../up", "~/x", "a/../../b"])
    func aFolderOutsideTheRootsIsRefusedByName(_ path: String) throws {
        let json = #"[{"hosts": ["a.org"], "group": "A"}, {"name": "Out", "hosts": ["a.org"], "folder": "\#(path)"}]"#
        let rules = PlacementRules(rules: try PlacementRules.rules(try #require(JSONValue(text: json))))
        let problem = #expect(throws: Problem.self) { try rules.check(folders) }
        #expect(problem?.status == 403)
        #expect(
            problem?.detail.hasPrefix("The folder of rule 2 (Out) cannot be used. Files may not be saved in") == true
        )
        #expect(throws: Problem.self) {
            try rules.placement(
                of: RuleTarget(try "https://a.org/".downloadURL()),
                folder: nil,
                group: nil,
                in: folders
            )
        }
        let groups = PlacementRules(groups: ["Films": path])
        #expect(throws: Problem.self) { try groups.check(folders) }
    }

    @Test func aLinkOutOfTheRootsIsFoundWhenADownloadComes() throws {
        try rules.check(folders)
        try FileManager.default.createSymbolicLink(atPath: temporary("d/papers"), withDestinationPath: "/etc")
        #expect(throws: Problem.self) { try place("https://c.org/f.pdf") }
    }
}
