import Foundation
import HaulTesting
import Testing

@testable import HaulFleet

/// Tests sets in a queue with a model hub on loopback.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct SetProcessTests {
    private static let large = HubFile("weights/a.bin", TestContent(seed: 71, count: 3_000_000), isLarge: true)
    private static let files = [large, HubFile("config.json", #"{"a": 1}"#.utf8), HubFile("empty", "".utf8)]

    private func withHub(_ body: (HubServer, FleetRig, String) async throws -> Void) async throws {
        let hub = try await HubServer.start()
        let commit = hub.commit(Self.files, to: "org/model")
        do {
            try await FleetRig.run { rig in
                rig.setVariable("HF_ENDPOINT", hub.url)
                try await body(hub, rig, commit)
            }
        } catch {
            await hub.stop()
            throw error
        }
        await hub.stop()
    }

    private func expectFiles(_ rig: FleetRig, _ folder: String) throws {
        for file in Self.files { #expect(try rig.holds(file.content, "\(folder)/\(file.path)"), "\(file.path)") }
    }

    /// Runs a worker until the queue is drained.
    ///
    /// - Parameter status: 1 if an item fails.
    private func work(_ rig: FleetRig, status: Int32 = 0) async throws {
        let worker = try rig.startWorker("one", "--until-drained")
        #expect(await rig.ending(of: worker) == .exited(status))
    }

    @Test func workersBringTheFilesOfTheCommitThatWasAdded() async throws {
        try await withHub { hub, rig, commit in
            try await rig.command("add", "--set", "hf://org/model")
            let next = HubFile("config.json", #"{"a": 2}"#.utf8)
            hub.commit([Self.large, next, Self.files[2]], to: "org/model")
            try await work(rig)
            try expectFiles(rig, "org/model@\(commit)")
            #expect(try await rig.number("SELECT count(*) FROM done WHERE outcome = 0") == Self.files.count)
            // The set of the next commit is another one.
            try await rig.command("add", "--set", "hf://org/model", "--select", "*.json")
            try await work(rig)
            #expect(try rig.names().count == Self.files.count + 1)
            try expectFiles(rig, "org/model@\(commit)")
        }
    }

    @Test func theSameSetAddsNothingTwice() async throws {
        try await withHub { _, rig, _ in
            try await rig.command("add", "--set", "hf://org/model", "--under", "m")
            try await rig.command("add", "--set", "hf://org/model", "--under", "m")
            #expect(try await rig.number("SELECT count(*) FROM item") == Self.files.count)
        }
    }

    @Test func aFileWithOtherBytesIsNotPublished() async throws {
        try await withHub { hub, rig, _ in
            hub.commit(Self.files.map { $0.corrupt() }, to: "org/bad")
            try await rig.command("init", "--max-attempts", "1")
            try await rig.command("add", "--set", "hf://org/bad", "--under", "m")
            try await work(rig, status: 1)
            // An empty file has no other bytes.
            #expect(try rig.names() == ["m/empty"])
        }
    }

    @Test func theTokenIsNotInTheDatabaseAndReachesTheHubAlone() async throws {
        try await withHub { hub, rig, _ in
            hub.allow("hf_secret", for: ["org/model"])
            hub.restrict("org/model", to: .private)
            let refused = try await rig.ending(of: "add", "--set", "hf://org/model")
            #expect(refused.ending == .exited(2) && refused.log.contains("HF_TOKEN"), "\(refused.log)")
            rig.setVariable("HF_TOKEN", "hf_secret")
            try await rig.command("add", "--set", "hf://org/model", "--under", "m")
            #expect(try await rig.number("SELECT count(*) FROM item WHERE item::text LIKE '%secret%'") == 0)
            try await work(rig)
            try expectFiles(rig, "m")
            #expect(hub.authorizationsAtStorage == 0 && !hub.storageRequests.isEmpty)
            #expect(try await rig.number("SELECT count(*) FROM done WHERE done::text LIKE '%secret%'") == 0)
        }
    }

    @Test func aWorkerWithoutATokenFailsTheItems() async throws {
        try await withHub { hub, rig, _ in
            hub.allow("hf_secret", for: ["org/model"])
            hub.restrict("org/model", to: .private)
            rig.setVariable("HF_TOKEN", "hf_secret")
            try await rig.command("add", "--set", "hf://org/model", "--under", "m")
            rig.setVariable("HF_TOKEN", nil)
            try await work(rig, status: 1)
            #expect(try rig.names().isEmpty)
            #expect(try await rig.number("SELECT count(*) FROM done WHERE outcome = 0") == 0)
        }
    }

    @Test func aNameThatCannotBeUsedAddsNothingUnlessItIsSkipped() async throws {
        try await withHub { hub, rig, _ in
            hub.commit(Self.files + [HubFile("../out", "x".utf8)], to: "org/odd")
            let refused = try await rig.ending(of: "add", "--set", "hf://org/odd")
            #expect(refused.ending == .exited(64) && refused.log.contains("out"), "\(refused.log)")
            #expect(try await rig.number("SELECT count(*) FROM item") == 0)
            try await rig.command("add", "--set", "hf://org/odd", "--skip-invalid")
            #expect(try await rig.number("SELECT count(*) FROM item") == Self.files.count)
        }
    }

    @Test func exitsSixtyFourWhenAnOptionDoesNotFit() async throws {
        try await withHub { _, rig, _ in
            for arguments in [
                ["add"], ["add", "-i", "-", "--set", "hf://org/model"], ["add", "-i", "-", "--under", "m"],
                ["add", "--set", "hf://org/model", "--keyring", "keys"], ["add", "--set", "/no/list"],
                ["add", "--set", "hf://org/model", "--under", "../m"],
                ["add", "--set", "hf://org/model", "--format", "csv"],
            ] {
                let result = try await rig.ending(of: arguments)
                #expect(result.ending == .exited(64), "\(arguments): \(result.log)")
            }
            #expect(try await rig.number("SELECT count(*) FROM item") == 0)
        }
    }
}
