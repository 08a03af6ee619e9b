import Foundation
import HaulKit
import HaulTesting
import Testing

@testable import HaulFleet

/// Covers failure 20 of docs/fleet.md: errors of disks, file servers and file systems.
@Suite(.serialized) struct FolderFaultTests {
    /// Calls `body` with a root folder on a file system of its own.
    private func withMount(_ options: String, _ body: (_ root: String) async throws -> Void) async throws {
        let folder = try TemporaryFolder()
        let root = try folder.makeFolder("root")
        try SystemCommand.run("mount", "-t", "tmpfs", "-o", options, "tmpfs", root)
        do { try await body(root) } catch {
            try SystemCommand.run("umount", "-l", root)
            throw error
        }
        try SystemCommand.run("umount", "-l", root)
    }

    @Test(.enabled(if: geteuid() == 0, "mounting needs root"))
    func `On a full disk nothing gets a name, and what waits is published when there is space`() async throws {
        try await withMount("size=1m,nr_inodes=16") { root in
            let destination = try FolderDestination(root: root, worker: "w")
            try await destination.check()
            let files = try (0..<4).map {
                try StagedFiles.make(Int64($0), "folder\($0)/sub/name", "content \($0)", in: destination.stagingFolder)
            }
            let outcomes = await destination.publish(files.map { PreparedFile(file: $0) })
            let failed = files.filter { outcomes[$0.key]?.isPublished != true }
            #expect(!failed.isEmpty)
            for file in failed {
                let error = try #require(outcomes[file.key]?.error)
                #expect(error.isRetryable && error.message.contains("is full"), "\(error)")
                #expect(!FileManager.default.fileExists(atPath: "\(root)/\(file.path)"))
            }
            try SystemCommand.run("mount", "-o", "remount,nr_inodes=100", root)
            let again = await destination.publish(files.map { PreparedFile(file: $0) })
            for file in files {
                #expect(again[file.key] == .published(tag: nil))
                let text = try String(contentsOfFile: "\(root)/\(file.path)", encoding: .utf8)
                #expect(text == "content \(file.key.item)")
            }
        }
    }

    @Test(.enabled(if: geteuid() == 0, "mounting needs root"))
    func `A file system that became read-only, and one below the root, are refused`() async throws {
        try await withMount("size=1m") { root in
            let destination = try FolderDestination(root: root, worker: "w")
            try await destination.check()
            let below = "\(root)/below"
            try FileManager.default.createDirectory(atPath: below, withIntermediateDirectories: false)
            try SystemCommand.run("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", below)
            let other = try StagedFiles.make(1, "below/name", "x", in: destination.stagingFolder)
            let error = try #require(try await destination.store(other)?.error)
            #expect(!error.isRetryable && error.message.contains("another file system"))
            try SystemCommand.run("umount", "-l", below)
            let file = try StagedFiles.make(2, "name", "x", in: destination.stagingFolder)
            try SystemCommand.run("mount", "-o", "remount,ro", root)
            #expect(try await destination.store(file)?.error?.message.contains("read-only") == true)
            let fresh = try FolderDestination(root: root, worker: "w2")
            let refusal = await #expect(throws: FleetError.self) { try await fresh.check() }
            #expect(refusal?.code == .destinationRefused)
        }
    }

    @Test func `Without hard links files are renamed, and still never replace any`() async throws {
        try await TemporaryFolder.with { folder in
            let destination = try FolderDestination(root: folder.path, worker: "w") {
                _,
                _,
                _,
                _ throws(SystemCalls.Errno) in
                throw SystemCalls.Errno(code: EPERM)
            }
            try await destination.check()
            let file = try StagedFiles.make(1, "a/name", "content", in: destination.stagingFolder)
            #expect(try await destination.store(file)?.isPublished == true)
            #expect(!FileManager.default.fileExists(atPath: file.stagedPath))
            // Repeats the call as after a lost report. The file on the destination counts as published.
            #expect(try await destination.store(file)?.isPublished == true)
            let other = try StagedFiles.make(2, "a/name", "CONTENT", in: destination.stagingFolder)
            #expect(try await destination.store(other)?.conflict != nil)
            #expect(try String(contentsOfFile: folder("a/name"), encoding: .utf8) == "content")
            #expect(try FileManager.default.contentsOfDirectory(atPath: destination.stagingFolder) == ["2-1"])
        }
    }

    @Test func `What the system says is one sentence, and tells whether waiting may help`() {
        let table: [(Int32, Bool, FleetError.Code)] = [
            (ENOSPC, true, .destinationUnreachable), (EDQUOT, true, .destinationUnreachable),
            (ESTALE, true, .destinationUnreachable),
            (EIO, true, .destinationUnreachable), (EMFILE, true, .destinationUnreachable),
            (ENOENT, true, .destinationUnreachable),
            (EROFS, false, .destinationRefused), (EACCES, false, .destinationRefused),
            (EPERM, false, .destinationRefused),
            (EMLINK, false, .destinationRefused), (EXDEV, false, .destinationRefused),
            (ENAMETOOLONG, false, .invalidInput),
            (EILSEQ, false, .invalidInput), (ETIMEDOUT, true, .destinationUnreachable),
        ]
        for (errno, isRetryable, code) in table {
            let error = FolderFailure.error(SystemCalls.Errno(code: errno), "link", "a\nb")
            #expect(error.isRetryable == isRetryable && error.code == code)
            #expect(error.blamesNoFile == [ENOSPC, EDQUOT, EMFILE].contains(errno))
            #expect(error.message.hasSuffix(".") && !error.message.contains("\n") && error.message.contains("a?b"))
        }
    }

    @Test func `A folder without write permission is refused with its path`() async throws {
        try await TemporaryFolder.with { folder in
            let root = try folder.makeFolder("root")
            let destination = try FolderDestination(root: root, worker: "w")
            try await destination.check()
            try FileManager.default.createDirectory(atPath: "\(root)/locked", withIntermediateDirectories: false)
            let file = try StagedFiles.make(1, "locked/name", "x", in: destination.stagingFolder)
            // Root may write to every folder that is not immutable.
            let lock = geteuid() == 0 ? ["chattr", "+i", "\(root)/locked"] : ["chmod", "555", "\(root)/locked"]
            do { try SystemCommand.run(lock) } catch { return }
            let error = try await destination.store(file)?.error
            try SystemCommand.run(
                geteuid() == 0 ? ["chattr", "-i", "\(root)/locked"] : ["chmod", "755", "\(root)/locked"]
            )
            #expect(error?.code == .destinationRefused)
            #expect(error?.message.contains("locked/name") == true)
            #expect(try await destination.store(file)?.isPublished == true)
        }
    }

    @Test func `A staging folder that is a link elsewhere is not used`() async throws {
        try await TemporaryFolder.with { folder in
            let root = try folder.makeFolder("root")
            let outside = try folder.makeFolder("outside")
            try FileManager.default.createSymbolicLink(atPath: "\(root)/.haul-fleet", withDestinationPath: outside)
            let destination = try FolderDestination(root: root, worker: "w")
            await #expect(throws: FleetError.self) { try await destination.check() }
            #expect(try FileManager.default.contentsOfDirectory(atPath: outside).isEmpty)
        }
    }
}
