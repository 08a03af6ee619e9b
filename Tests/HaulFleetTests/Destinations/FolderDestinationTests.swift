import Crypto
import Foundation
import HaulTesting
import Testing

@testable import HaulFleet

@Suite struct FolderDestinationTests {
    private func destination(_ folder: TemporaryFolder, worker: String = "w1") async throws -> FolderDestination {
        let destination = try FolderDestination(root: folder.path, worker: worker)
        try await destination.check()
        return destination
    }

    @Test func `A staged file gets its final name and keeps the staged one`() async throws {
        try await TemporaryFolder.with { folder in
            let destination = try await destination(folder)
            let file = try StagedFiles.make(1, "a/b/c.txt", "hello", in: destination.stagingFolder)
            #expect(try await destination.store(file) == .published(tag: nil))
            #expect(try String(contentsOfFile: folder("a/b/c.txt"), encoding: .utf8) == "hello")
            #expect(FileManager.default.fileExists(atPath: file.stagedPath))
        }
    }

    @Test func `Publishing again finds that it was done, also when the staged file is gone`() async throws {
        try await TemporaryFolder.with { folder in
            let destination = try await destination(folder)
            let file = try StagedFiles.make(1, "c.txt", "hello", in: destination.stagingFolder)
            #expect(try await destination.store(file)?.isPublished == true)
            #expect(try await destination.store(file)?.isPublished == true)
            try FileManager.default.removeItem(atPath: file.stagedPath)
            #expect(try await destination.store(file)?.isPublished == true)
        }
    }

    @Test
    func `Of two publishers of one path the second verifies, and other bytes are a conflict that changes nothing`()
        async throws
    {
        try await TemporaryFolder.with { folder in
            let first = try await destination(folder, worker: "w1")
            let second = try await destination(folder, worker: "w2")
            let winner = try StagedFiles.make(1, "x/file", "content 1", in: first.stagingFolder)
            let same = try StagedFiles.make(1, "x/file", "content 1", in: second.stagingFolder)
            let changed = try StagedFiles.make(2, "x/file", "content 2", in: second.stagingFolder)
            let longer = try StagedFiles.make(3, "x/file", "content 10", in: second.stagingFolder)
            #expect(try await first.store(winner)?.isPublished == true)
            #expect(try await second.store(same)?.isPublished == true)
            let conflict = try #require(try await second.store(changed)?.conflict)
            #expect(
                conflict.contains("9 bytes with SHA-256 \(winner.sha256.map { String(format: "%02x", $0) }.joined())")
            )
            #expect(
                conflict.contains("9 bytes with SHA-256 \(changed.sha256.map { String(format: "%02x", $0) }.joined())")
            )
            #expect(try await second.store(longer)?.conflict?.contains("has 10 bytes") == true)
            #expect(try String(contentsOfFile: folder("x/file"), encoding: .utf8) == "content 1")
        }
    }

    @Test func `Many publishers of the same paths at once leave one complete file each`() async throws {
        try await TemporaryFolder.with { folder in
            var destinations: [FolderDestination] = []
            for worker in 0..<4 { destinations.append(try await destination(folder, worker: "w\(worker)")) }
            let outcomes = try await withThrowingTaskGroup { group in
                for (worker, destination) in destinations.enumerated() {
                    group.addTask {
                        let files = try (0..<200).map {
                            let text = "\($0) of \($0 % 10 == 0 ? worker : 0)"
                            return try StagedFiles.make(
                                Int64($0),
                                "d\($0 % 7)/e/\($0)",
                                text,
                                in: destination.stagingFolder
                            )
                        }
                        return (worker, await destination.publish(files.map { PreparedFile(file: $0) }))
                    }
                }
                return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
            }
            for item in 0..<200 {
                let text = try String(contentsOfFile: folder("d\(item % 7)/e/\(item)"), encoding: .utf8)
                let winner = try #require(Int(text.split(separator: " ")[2]))
                for worker in 0..<4 {
                    let outcome = outcomes[worker]?[LeaseKey(item: Int64(item), epoch: 1)]
                    let isSame = item % 10 != 0 || worker == winner
                    #expect(isSame ? outcome?.isPublished == true : outcome?.conflict != nil, "\(item) \(worker)")
                }
            }
        }
    }

    @Test func `Ten thousand files of one batch are all published`() async throws {
        try await TemporaryFolder.with { folder in
            let destination = try await destination(folder)
            let files = try (0..<10_000).map {
                try StagedFiles.make(Int64($0), "\($0 % 700)/sub/\($0)", "\($0)", in: destination.stagingFolder)
            }
            let outcomes = await destination.publish(files.map { PreparedFile(file: $0) })
            #expect(outcomes.count == files.count)
            #expect(outcomes.values.filter(\.isPublished).count == files.count)
            for file in files {
                guard FileManager.default.contents(atPath: folder(file.path)) == Data("\(file.key.item)".utf8) else {
                    Issue.record("\(file.path) has other bytes")
                    return
                }
            }
        }
    }

    @Test func `Bad paths fail alone and with a sentence`() async throws {
        try await TemporaryFolder.with { folder in
            let destination = try await destination(folder)
            try Data("x".utf8).write(to: URL(fileURLWithPath: folder("plain")))
            let bad = [
                "../out", "/etc/x", "a/../../x", ".haul-fleet/w1/x", "plain/x", String(repeating: "n", count: 300),
                "a//b", "",
            ]
            var files = try bad.enumerated().map {
                try StagedFiles.make(Int64($0.offset), $0.element, "x", in: destination.stagingFolder)
            }
            files.append(try StagedFiles.make(100, "good", "x", in: destination.stagingFolder))
            let outcomes = await destination.publish(files.map { PreparedFile(file: $0) })
            #expect(outcomes[LeaseKey(item: 100, epoch: 1)] == .published(tag: nil))
            for (item, path) in bad.enumerated() {
                let error = outcomes[LeaseKey(item: Int64(item), epoch: 1)]?.error
                #expect(error?.isRetryable == false, "\(path): \(error?.message ?? "published")")
            }
            #expect(try folder.names == [".haul-fleet", "good", "plain"])
        }
    }

    @Test func `A symbolic link below the root is not followed, wherever it leads`() async throws {
        try await TemporaryFolder.with { folder in
            let root = try folder.makeFolder("root")
            let outside = try folder.makeFolder("outside")
            let inside = try folder.makeFolder("root/inside")
            let destination = try FolderDestination(root: root, worker: "w")
            try await destination.check()
            for (name, target) in [
                ("out", outside), ("in", inside), ("up", ".."), ("own", ".haul-fleet"), ("loop", "loop"),
                ("gone", "nothing"),
            ] {
                try FileManager.default.createSymbolicLink(atPath: "\(root)/\(name)", withDestinationPath: target)
            }
            for (item, name) in ["out", "in", "up", "own", "loop", "gone"].enumerated() {
                let file = try StagedFiles.make(Int64(item), "\(name)/x", "x", in: destination.stagingFolder)
                let error = try await destination.store(file)?.error
                #expect(error?.code == .invalidInput, "\(name)")
                #expect(error?.message.contains("symbolic link") == true, "\(name)")
                let same = try StagedFiles.make(Int64(item + 10), name, "x", in: destination.stagingFolder)
                #expect(try await destination.store(same)?.conflict?.contains("symbolic link") == true, "\(name)")
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: outside).isEmpty)
            #expect(try FileManager.default.contentsOfDirectory(atPath: inside).isEmpty)
        }
    }

    @Test func `A staged file that was changed or is gone does not get a name`() async throws {
        try await TemporaryFolder.with { folder in
            let destination = try await destination(folder)
            let cut = try StagedFiles.make(1, "cut", "0123456789", in: destination.stagingFolder)
            try Data("0123".utf8).write(to: URL(fileURLWithPath: cut.stagedPath))
            let gone = try StagedFiles.make(2, "gone", "0123456789", in: destination.stagingFolder)
            try FileManager.default.removeItem(atPath: gone.stagedPath)
            #expect(try await destination.store(cut)?.error?.code == .disk)
            #expect(try await destination.store(gone)?.error?.code == .disk)
            #expect(try folder.names == [".haul-fleet"])
        }
    }

    @Test func `A folder, a pipe and a device under the name are conflicts`() async throws {
        try await TemporaryFolder.with { folder in
            let destination = try await destination(folder)
            try folder.makeFolder("folder")
            try SystemCommand.run("mkfifo", folder("pipe"))
            for (item, name) in ["folder", "pipe"].enumerated() {
                let file = try StagedFiles.make(Int64(item), name, "x", in: destination.stagingFolder)
                #expect(try await destination.store(file)?.conflict != nil, "\(name)")
            }
        }
    }

    @Test func `A root that is missing, or another folder than before, is not written to`() async throws {
        try await TemporaryFolder.with { folder in
            let missing = try FolderDestination(root: folder("missing"), worker: "w")
            await #expect(throws: FleetError.self) { try await missing.check() }
            let root = try folder.makeFolder("root")
            let destination = try FolderDestination(root: root, worker: "w")
            try await destination.check()
            let first = try StagedFiles.make(1, "a", "x", in: destination.stagingFolder)
            #expect(try await destination.store(first)?.isPublished == true)
            // Replaces the root as the unmounting of a network folder does.
            try FileManager.default.moveItem(atPath: root, toPath: folder("moved"))
            try folder.makeFolder("root/.haul-fleet/w")
            let second = try StagedFiles.make(2, "b", "x", in: destination.stagingFolder)
            #expect(try await destination.store(second)?.error?.isRetryable == true)
            #expect(try FileManager.default.contentsOfDirectory(atPath: root) == [".haul-fleet"])
        }
    }

    @Test func `The name of a worker cannot lead out of the staging folder`() {
        for name in ["", "..", ".", "a/b", "../x", ".hidden", "a\0b"] {
            #expect(throws: FleetError.self) { try FolderDestination(root: "/tmp", worker: name) }
        }
    }

    @Test func `A folder that takes the place of the checked one gets no file, not even the first`() async throws {
        try await TemporaryFolder.with { folder in
            let root = folder("root")
            try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: false)
            let destination = try FolderDestination(root: root, worker: "w1")
            try await destination.check()
            try FileManager.default.moveItem(atPath: root, toPath: folder("away"))
            try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: false)
            let staging = folder("away/.haul-fleet/w1")
            try FileManager.default.createDirectory(
                atPath: destination.stagingFolder,
                withIntermediateDirectories: true
            )
            let file = try StagedFiles.make(1, "c.txt", "hello", in: destination.stagingFolder)
            guard case .failed(let error)? = try await destination.store(file) else {
                Issue.record("It was published.")
                return
            }
            #expect(error.code == .destinationUnreachable && error.blamesNoFile)
            #expect(!FileManager.default.fileExists(atPath: root + "/c.txt"))
            #expect(FileManager.default.fileExists(atPath: staging))
        }
    }
}
