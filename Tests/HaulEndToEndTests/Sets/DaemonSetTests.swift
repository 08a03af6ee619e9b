import Foundation
import HaulTesting
import Testing

/// Tests `haul add hf://…` against a hub on loopback.
@Suite(.timeLimit(.minutes(60)))
struct DaemonSetTests {
    private static let large = HubFile("weights/model.bin", TestContent(seed: 7, count: 40_000_000), isLarge: true)
    private static let files = [large, HubFile("config.json", #"{"a": 1}"#.utf8), HubFile("README.md", "# A\n".utf8)]

    private func withHub(
        _ files: [HubFile] = Self.files,
        _ options: HubServer.Options = HubServer.Options(),
        _ body: (HubServer, DaemonRig) async throws -> Void
    ) async throws {
        let hub = try await HubServer.start(options)
        hub.commit(files, to: "org/model")
        do { try await body(hub, try DaemonRig(["HF_ENDPOINT": hub.url])) } catch {
            await hub.stop()
            throw error
        }
        await hub.stop()
    }

    private struct Row: Decodable {
        var id: String
        var state: String
        var group: String
        var folder: String
    }

    private func expectWhole(_ folder: String) {
        for file in Self.files {
            let bytes = FileManager.default.contents(atPath: "\(folder)/\(file.path)")
            #expect(bytes.map(Array.init) == file.content.bytes(0..<file.content.count), "\(file.path)")
        }
    }

    @Test func aSetIsFetchedIntoAFolderAndAGroup() async throws {
        try await withHub { _, rig in
            let daemon = try await rig.start()
            let folder = rig.downloads + "/models"
            let added = try await rig.run("add", "hf://org/model", "--group", "x", "-d", folder, "--watch")
            #expect(added.status == 0, "\(added.errors)")
            #expect(added.output.contains("x: 3 files, 0 there already, 3 to fetch, in "))
            #expect(added.output.contains("x: whole, 3 files, proved"))
            expectWhole(folder)
            let rows = try await rig.rows("--group", "x")
            #expect(rows.count == 3 && rows.allSatisfy { $0.state == "completed" })
            let log = await rig.stop(daemon)
            #expect(log.errors.contains("Set model: whole, 3 files proved.") && log.errors.contains("code=setWhole"))
        }
    }

    @Test func aWrongFileIsNamedWithTheStatusOfDigests() async throws {
        try await withHub([Self.files[1], Self.large.corrupt()]) { _, rig in
            let daemon = try await rig.start()
            let added = try await rig.run("add", "hf://org/model", "--watch")
            #expect(added.status == 5, "\(added.errors)")
            #expect(added.errors.contains(Self.large.path))
            #expect(!FileManager.default.fileExists(atPath: rig.downloads + "/model/" + Self.large.path))
            let log = await rig.stop(daemon)
            #expect(log.errors.contains("code=setIncomplete"))
        }
    }

    @Test func patternsAndRevisionsGoToTheDaemon() async throws {
        try await withHub { hub, rig in
            hub.commit([HubFile("config.json", "{}".utf8)], to: "org/model", branch: "next")
            let daemon = try await rig.start()
            let added = try await rig.run(
                "add",
                "hf://org/model",
                "--select",
                "*.json",
                "--revision",
                "next",
                "--watch"
            )
            #expect(added.status == 0 && added.output.contains("1 file"), "\(added.errors)")
            #expect(FileManager.default.contents(atPath: rig.downloads + "/model/config.json") == Data("{}".utf8))
            await rig.stop(daemon)
        }
    }

    @Test(arguments: [
        ["add", "hf://org/model", "--output", "x"], ["add", "http://127.0.0.1/x", "--select", "*"],
        ["add", "hf://org/a", "hf://org/b", "-d", "x"], ["add", "hf://org/model", "--paused"],
    ])
    func optionsThatDoNotGoTogetherAreRefused(_ arguments: [String]) async throws {
        let rig = try DaemonRig()
        let result = try await rig.haul.start(arguments).result()
        #expect(result.status == 64, "\(result.errors)")
        // The folder of the command is removed with the rig.
        withExtendedLifetime(rig) {}
    }

    @Test func aSecretInFrontOfAReferenceIsShownNowhere() async throws {
        try await withHub { _, rig in
            let daemon = try await rig.start()
            let added = try await rig.run("add", "HF://hidden@org/model", "HF://u:hidden@org/model")
            #expect(added.status != 0 && added.errors.contains("***"), "\(added.errors)")
            #expect(!(added.errors + added.output).contains("hidden"))
            let log = await rig.stop(daemon)
            #expect(!(log.errors + log.output).contains("hidden"))
        }
    }

    @Test func anUnfinishedSetIsWholeAfterAKillAndARestart() async throws {
        var options = HubServer.Options()
        options.bytesPerSecond = 1_000_000
        try await withHub(Self.files, options) { hub, rig in
            let first = try await rig.start()
            let added = try await rig.run("add", "hf://org/model", "--json")
            #expect(added.status == 0, "\(added.errors)")
            let row = try JSONDecoder().decode(Row.self, from: Data(added.output.utf8))
            try await until { hub.bodyBytesSent > 2_000_000 }
            first.send(SIGKILL)
            _ = await first.result()
            hub.options.bytesPerSecond = nil
            let second = try await rig.start()
            // The same request joins the set, whose list is read again.
            let again = try await rig.run("add", "hf://org/model", "--watch")
            #expect(again.status == 0, "\(again.errors)")
            expectWhole(row.folder)
            #expect(hub.bodyBytesSent < 42_000_000 * 3 / 2)
            let log = await rig.stop(second)
            #expect(log.errors.contains("Set model: whole, 3 files proved."), "\(log.errors)")
        }
    }
}
