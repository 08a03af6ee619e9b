import HaulKit
import HaulTesting
import Testing

@testable import HaulAria2
@testable import HaulServer

/// Rules of the server for downloads that clients of aria2 add.
@Suite struct Aria2PlacementTests {
    private func run(_ body: (Aria2SessionRig) async throws -> Void) async throws {
        let list = """
            [{"extensions": ["iso"], "folder": "discs", "group": "Discs", "connections": 3},
             {"hosts": ["outside.example"], "folder": "/etc"}]
            """
        let rules = PlacementRules(rules: try PlacementRules.rules(try #require(JSONValue(text: list))))
        try await Aria2SessionRig.run(
            configure: { configuration in
                guard let folders = configuration.roots() else { return }
                configuration.folder = folders.fallback
                configuration.placement = { url, name throws(Problem) in
                    try rules.placement(of: RuleTarget(url, name: name), folder: nil, group: nil, in: folders)
                }
            },
            body
        )
    }

    private func add(
        _ url: String,
        _ options: [String: Aria2Value],
        _ rig: Aria2SessionRig
    ) async throws -> (gid: String, group: String?) {
        let options = options.merging(["pause": .text("true")]) { $1 }
        let gid = try await rig.call("addUri", .list([.text(url)]), .structure(options)).text
        return (gid, try await rig.download(gid).snapshot.group)
    }

    private func folder(_ gid: String, _ rig: Aria2SessionRig) async throws -> String? {
        try await rig.call("getOption", .text(gid))["dir"].text
    }

    @Test func rulesChooseWhatAClientLeavesOpen() async throws {
        try await run { rig in
            let disc = try await add("https://example.org/a.ISO", rig)
            #expect(try await folder(disc.gid, rig)?.hasSuffix("/discs") == true)
            #expect(disc.group == "Discs")
            let other = try await add("https://example.org/a.zip", rig)
            #expect(try await folder(other.gid, rig)?.hasSuffix("/discs") == false)
            #expect(other.group == nil)
        }
    }

    @Test func theNameOfTheClientCounts() async throws {
        try await run { rig in
            let disc = try await add("https://example.org/view?id=1", ["out": .text("b.iso")], rig)
            #expect(try await rig.download(disc.gid).snapshot.path?.hasSuffix("/discs/b.iso") == true)
        }
    }

    @Test func aFolderOfTheClientTakesPrecedence() async throws {
        try await run { rig in
            let own = rig.script.folder + "/own"
            let disc = try await add("https://example.org/a.iso", ["dir": .text(own)], rig)
            #expect(try await folder(disc.gid, rig) == own)
            _ = try await rig.call("changeGlobalOption", .structure(["dir": .text(rig.script.folder + "/all")]))
            let second = try await add("https://example.org/b.iso", rig)
            #expect(try await folder(second.gid, rig) == rig.script.folder + "/all")
        }
    }

    @Test func aFolderOutsideTheRootsRefusesTheDownload() async throws {
        try await run { rig in
            let failure = await rig.failure("addUri", .list([.text("https://outside.example/a")]))
            #expect(failure?.contains("rule 2") == true, "\(failure ?? "")")
        }
    }
}

extension Aria2PlacementTests {
    private func add(_ url: String, _ rig: Aria2SessionRig) async throws -> (gid: String, group: String?) {
        try await add(url, [:], rig)
    }
}
