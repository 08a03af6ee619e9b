import Foundation
import HaulCore
import HaulKit
import HaulTesting
import Testing

/// Tests `haul sync hf://…` against a hub on loopback.
@Suite(.timeLimit(.minutes(60)))
struct SyncHubTests {
    private var haul: HaulCommand
    private var folder: TemporaryFolder { haul.folder }
    private static let large = HubFile(
        "weights/model.safetensors",
        TestContent(seed: 7, count: 5_000_000),
        isLarge: true
    )
    private static let files = [
        large, HubFile("config.json", #"{"a": 1}"#.utf8), HubFile("README.md", "# A model\n".utf8),
        HubFile("empty.txt", "".utf8),
    ]

    init() throws { haul = try HaulCommand() }

    private func withHub(
        _ files: [HubFile] = Self.files,
        _ options: HubServer.Options = HubServer.Options(),
        _ body: (HubServer) async throws -> Void
    ) async throws {
        let hub = try await HubServer.start(options)
        hub.commit(files, to: "org/model")
        do { try await body(hub) } catch {
            await hub.stop()
            throw error
        }
        await hub.stop()
    }

    private func sync(_ hub: HubServer, token: String? = nil, _ arguments: String...) async throws
        -> ChildProcess.Result
    {
        var haul = haul
        haul.environment["HF_ENDPOINT"] = hub.url
        haul.environment["HF_TOKEN"] = token
        return try await haul.start(["sync"] + arguments).result()
    }

    private func bytes(_ path: String) -> [UInt8]? {
        FileManager.default.contents(atPath: folder(path)).map(Array.init)
    }

    private func expectWhole(_ files: [HubFile] = Self.files, in place: String = "m") {
        for file in files {
            #expect(bytes("\(place)/\(file.path)") == file.content.bytes(0..<file.content.count), "\(file.path)")
        }
    }

    private func partials(in place: String = "m") -> [String] {
        let names = FileManager.default.enumerator(atPath: folder(place))?.compactMap { $0 as? String } ?? []
        return names.filter { $0.hasSuffix(".haulpart") }
    }

    @Test func bringsTheFilesAndFetchesNothingTheSecondTime() async throws {
        try await withHub { hub in
            let first = try await sync(hub, "hf://org/model", "-d", "m")
            #expect(first.status == 0, "\(first.errors)")
            #expect(first.errors.contains("1 file by sha256") && first.errors.contains("3 files by git's SHA-1"))
            expectWhole()
            let (asked, sent) = (hub.requests.count, hub.bodyBytesSent)
            let second = try await sync(hub, "hf://org/model", "-d", "m")
            #expect(second.status == 0, "\(second.errors)")
            #expect(second.errors.contains("0 fetched, 4 were there"))
            #expect(hub.requests.count == asked + 2)
            #expect(hub.bodyBytesSent - sent < 10_000)
        }
    }

    @Test func fetchesOnlyWhatIsMissingOrDifferent() async throws {
        try await withHub { hub in
            #expect(try await sync(hub, "hf://org/model", "-d", "m").status == 0)
            try Data("changed".utf8).write(to: URL(fileURLWithPath: folder("m/config.json")))
            unlink(folder("m/README.md"))
            try Data("mine".utf8).write(to: URL(fileURLWithPath: folder("m/mine.txt")))
            let result = try await sync(hub, "hf://org/model", "-d", "m")
            #expect(result.status == 0 && result.errors.contains("2 fetched, 2 were there"), "\(result.errors)")
            expectWhole()
            #expect(bytes("m/mine.txt") == Array("mine".utf8))
        }
    }

    /// The damaged file has its size and its time, so only reading finds it.
    @Test func findsDamageThatSizeAndTimeDoNotShow() async throws {
        try await withHub { hub in
            #expect(try await sync(hub, "hf://org/model", "-d", "m").status == 0)
            let path = folder("m/weights/model.safetensors")
            try await damage(path)
            #expect(try await sync(hub, "hf://org/model", "-d", "m", "--check").status == 5)
            let result = try await sync(hub, "hf://org/model", "-d", "m", "--verify")
            #expect(result.status == 0 && result.errors.contains("1 fetched, 3 were there"), "\(result.errors)")
            expectWhole()
            #expect(try await sync(hub, "hf://org/model", "-d", "m", "--check").status == 0)
        }
    }

    private func damage(_ path: String) async throws {
        let handle = try #require(FileHandle(forUpdatingAtPath: path))
        var times = stat()
        #expect(stat(path, &times) == 0)
        try handle.seek(toOffset: 1_000_000)
        try handle.write(contentsOf: Data("damage".utf8))
        let restored = [times.st_atim, times.st_mtim]
        #expect(futimens(handle.fileDescriptor, restored) == 0)
        try handle.close()
    }

    @Test func aFileWithWrongBytesGetsNoName() async throws {
        let good = Self.files[1]
        try await withHub([Self.large.corrupt(), good, Self.files[2].corrupt()]) { hub in
            let result = try await sync(hub, "hf://org/model", "-d", "m")
            #expect(result.status == 5, "\(result.errors)")
            #expect(bytes("m/\(Self.large.path)") == nil && bytes("m/README.md") == nil)
            expectWhole([good])
        }
    }

    @Test func aFileStaysUntilItsSuccessorIsProved() async throws {
        try await withHub { hub in
            #expect(try await sync(hub, "hf://org/model", "-d", "m").status == 0)
            let next = HubFile(Self.large.path, TestContent(seed: 8, count: 5_000_000), isLarge: true)
            hub.commit([next.corrupt()] + Self.files[1...], to: "org/model")
            #expect(try await sync(hub, "hf://org/model", "-d", "m").status == 5)
            expectWhole()
            hub.commit([next] + Self.files[1...], to: "org/model")
            let result = try await sync(hub, "hf://org/model", "-d", "m")
            #expect(result.status == 0, "\(result.errors)")
            expectWhole([next] + Self.files[1...])
            #expect(partials() == [])
        }
    }

    @Test func theTokenReachesTheHubAlone() async throws {
        try await withHub { hub in
            hub.allow("hf_secret", for: ["org/model"])
            hub.restrict("org/model", to: .private)
            let refused = try await sync(hub, "hf://org/model", "-d", "m")
            #expect(refused.status == 2 && refused.errors.contains("HF_TOKEN"), "\(refused.errors)")
            #expect(bytes("m/config.json") == nil)
            let result = try await sync(hub, token: "hf_secret", "hf://org/model", "-d", "m")
            #expect(result.status == 0, "\(result.errors)")
            #expect(!(result.errors + result.output).contains("hf_secret"))
            expectWhole()
            #expect(hub.authorizationsAtStorage == 0 && !hub.storageRequests.isEmpty)
        }
    }

    @Test(arguments: ["HF://secret@org/model", "hf://u:secret@org/model", "Hf://secret@org/model?secret"])
    func aSecretInFrontOfAReferenceIsShownNowhere(_ source: String) async throws {
        try await withHub { hub in
            let result = try await sync(hub, source, "-d", "m")
            #expect(result.status == 64 && result.errors.contains("***"), "\(result.errors)")
            #expect(!(result.errors + result.output).contains("secret") && hub.requests.isEmpty)
        }
    }

    @Test func saysWhyAHubRefuses() async throws {
        try await withHub { hub in
            let revision = try await sync(hub, "hf://org/model@nowhere", "-d", "m")
            #expect(revision.status == 2 && revision.errors.contains("no revision"), "\(revision.errors)")
            hub.restrict("org/model", to: .gated)
            let gated = try await sync(hub, "hf://org/model", "-d", "m")
            #expect(gated.status == 2 && gated.errors.contains("HF_TOKEN"), "\(gated.errors)")
        }
    }

    @Test func aMovedBranchLeavesNoMixture() async throws {
        try await withHub { hub in
            let old = hub.commit(Self.files, to: "org/model")
            let next = HubFile("config.json", #"{"a": 2}"#.utf8)
            hub.commit([next] + [Self.files[0], Self.files[2]], to: "org/model")
            let result = try await sync(
                hub,
                "hf://org/model",
                "--revision",
                old,
                "-d",
                "m",
                "--receipt",
                "receipt.json"
            )
            #expect(result.status == 0, "\(result.errors)")
            expectWhole()
            let check = try await sync(hub, "receipt.json", "--check", "-d", "m")
            #expect(check.status == 0, "\(check.errors)")
            let moved = try await sync(hub, "hf://org/model", "-d", "m", "--delete")
            #expect(moved.status == 0, "\(moved.errors)")
            expectWhole([next, Self.files[0], Self.files[2]])
            #expect(bytes("m/empty.txt") == nil)
            #expect(try await sync(hub, "receipt.json", "--check", "-d", "m").status == 5)
        }
    }

    @Test func selectsNames() async throws {
        try await withHub { hub in
            let result = try await sync(
                hub,
                "hf://org/model",
                "-d",
                "m",
                "--select",
                "*.json",
                "--select",
                "weights/**"
            )
            #expect(result.status == 0, "\(result.errors)")
            expectWhole([Self.files[0], Self.files[1]])
            #expect(bytes("m/README.md") == nil)
            let none = try await sync(hub, "hf://org/model", "-d", "m", "--select", "*.exe")
            #expect(none.status != 0)
        }
    }

    @Test func namesThatLeaveTheFolderAreRefusedAndTheOthersCome() async throws {
        let odd = [HubFile("../outside", "x".utf8), HubFile(".haul/set.jsonl", "x".utf8), HubFile("b", "1".utf8)]
        try await withHub(Self.files + odd) { hub in
            let result = try await sync(hub, "hf://org/model", "-d", "m")
            #expect(result.status == 2 && result.errors.contains("outside"), "\(result.errors)")
            expectWhole()
            #expect(bytes("outside") == nil && bytes("b") == nil)
        }
    }

    @Test func followsNoLinkOutOfTheFolder() async throws {
        try await withHub { hub in
            try FileManager.default.createDirectory(atPath: folder("m"), withIntermediateDirectories: true)
            try FileManager.default.createDirectory(atPath: folder("elsewhere"), withIntermediateDirectories: true)
            #expect(symlink(folder("elsewhere"), folder("m/weights")) == 0)
            let result = try await sync(hub, "hf://org/model", "-d", "m")
            #expect(result.status != 0, "\(result.errors)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder("elsewhere")) == [])
        }
    }

    @Test func printsTheSumAsJSON() async throws {
        try await withHub { hub in
            let result = try await sync(hub, "hf://org/model", "-d", "m", "--json")
            #expect(result.status == 0, "\(result.errors)")
            let line = try #require(result.output.split(separator: "\n").last)
            let sum = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            #expect(sum["event"] as? String == "set" && sum["files"] as? Int == 4 && sum["fetched"] as? Int == 4)
            #expect(sum["isWhole"] as? Bool == true)
            #expect((sum["source"] as? String)?.hasPrefix("hf://org/model@") == true)
        }
    }

    /// Somebody else who may write into the folder has written names into the records that lead elsewhere.
    @Test func forgedRecordsRemoveNothingElsewhere() async throws {
        try await withHub { hub in
            #expect(try await sync(hub, "hf://org/model", "-d", "m").status == 0)
            try Data("mine".utf8).write(to: URL(fileURLWithPath: folder("victim")))
            let path = folder("m/.haul/set.jsonl")
            var records = try String(contentsOfFile: path, encoding: .utf8)
            for (name, path) in [("../victim", "victim"), ("s/../../victim", "victim"), (".haul/lock", "m/.haul/lock")]
            {
                // Device, inode, size, and the times of birth and modification in nanoseconds.
                let words = try await ChildProcess.run("stat", "-c", "%d %i %s %.9W %.9Y", folder(path)).output
                    .filter { $0 != "." && $0 != "\n" }.split(separator: " ")
                #expect(words.count == 5)
                records += """
                    {"file":{"allocated":0,"born":\(words[3]),"device":\(words[0]),"inode":\(words[1]),"kind":"file",\
                    "modified":\(words[4]),"size":\(words[2])},"isBrought":true,"name":"\(name)"}

                    """
            }
            try records.write(toFile: path, atomically: true, encoding: .utf8)
            let result = try await sync(hub, "hf://org/model", "-d", "m", "--delete")
            #expect(result.status == 0 && !result.errors.contains("Removed"), "\(result.errors)")
            #expect(bytes("victim") == Array("mine".utf8) && bytes("m/.haul/lock") != nil)
            expectWhole()
        }
    }

    @Test(arguments: ["m/config.json", "m/.haul/set.jsonl", "m/README.md.haulpart", "./m/../m/config.json"])
    func aReceiptReplacesNoFileOfTheSet(_ path: String) async throws {
        try await withHub { hub in
            #expect(try await sync(hub, "hf://org/model", "-d", "m").status == 0)
            let result = try await sync(hub, "hf://org/model", "-d", "m", "--receipt", path)
            #expect(result.status == 64, "\(result.errors)")
            expectWhole()
            #expect(try await sync(hub, "hf://org/model", "-d", "m", "--check").status == 0)
        }
    }

    @Test func aReceiptReplacesNothingInTheFolderButAReceipt() async throws {
        try await withHub { hub in
            func write(_ receipt: String) async throws -> ChildProcess.Result {
                try await sync(hub, "hf://org/model", "-d", "m", "--except", "config.json", "--receipt", receipt)
            }
            #expect(try await sync(hub, "hf://org/model", "-d", "m").status == 0)
            let result = try await write("m/config.json")
            #expect(result.status == 64, "\(result.errors)")
            expectWhole()
            for _ in 0..<2 { #expect(try await write("m/receipt.json").status == 0) }
        }
    }

    @Test func aReceiptReplacesNoOtherFileAndWaitsForNoReader() async throws {
        try await withHub { hub in
            func write(_ receipt: String) async throws -> ChildProcess.Result {
                try await sync(hub, "hf://org/model", "-d", "m", "--receipt", receipt)
            }
            let files = FileManager.default
            try files.createSymbolicLink(atPath: folder("of-set.json"), withDestinationPath: "m/config.json")
            try Data("mine".utf8).write(to: URL(fileURLWithPath: folder("mine.json")))
            mkfifo(folder("pipe"), 0o600)
            for path in ["of-set.json", "mine.json"] {
                let result = try await write(path)
                #expect(result.status == 64, "\(result.errors)")
            }
            let unread = try await write("pipe")
            #expect(unread.status == 4 && unread.errors.contains("Nobody reads this pipe"), "\(unread.errors)")
            expectWhole()
            #expect(try String(contentsOfFile: folder("mine.json"), encoding: .utf8) == "mine")
            try files.createSymbolicLink(atPath: folder("link.json"), withDestinationPath: "receipt.json")
            for _ in 0..<2 { #expect(try await write("link.json").status == 0) }
            #expect(try files.destinationOfSymbolicLink(atPath: folder("link.json")) == "receipt.json")
            #expect(files.fileExists(atPath: folder("receipt.json")))
        }
    }

    @Test func aSecondSyncOfTheFolderWaitsForNobody() async throws {
        var options = HubServer.Options()
        options.bytesPerSecond = 1000
        try await withHub(Self.files, options) { hub in
            var haul = haul
            haul.environment["HF_ENDPOINT"] = hub.url
            let first = try haul.start(["sync", "hf://org/model", "-d", "m"])
            try await until { FileManager.default.fileExists(atPath: folder("m/\(Self.large.path).haulpart")) }
            let second = try await haul.start(["sync", "hf://org/model", "-d", "m"]).result()
            #expect(second.status == 7, "\(second.errors)")
            first.send(SIGKILL)
            _ = await first.result()
            hub.options.bytesPerSecond = nil
            let third = try await haul.start(["sync", "hf://org/model", "-d", "m"]).result()
            #expect(third.status == 0, "\(third.errors)")
            expectWhole()
            #expect(partials() == [])
        }
    }
}
