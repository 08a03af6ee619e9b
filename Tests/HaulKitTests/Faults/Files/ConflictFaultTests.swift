import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Line 17 of `docs/practice-list.md`, second part: names that are taken by a file or by a symbolic link.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct ConflictFaultTests {
    private let content = TestContent(seed: 1, count: 20_000)

    private func toFolder(_ rig: DownloaderRig) throws -> DownloadRequest {
        try rig.request { $0.destination = .folder(path: rig.folder) }
    }

    @Test func failsWhenANamedFileExistsAndAsksNobody() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            try rig.put("mine", at: rig.path)
            #expect(try await rig.failure().code == .fileExists)
            #expect(try rig.names() == ["file.bin"])
            #expect(try rig.text(at: rig.path) == "mine")
            #expect(rig.server.requests.isEmpty)
        }
    }

    @Test func takesTheNextFreeNameInAFolder() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            try rig.put("mine", at: rig.path)
            try rig.put("mine too", at: rig.folder + "/file (1).bin")
            #expect(try await rig.download(try toFolder(rig)).path == rig.folder + "/file (2).bin")
            #expect(try rig.names() == ["file (1).bin", "file (2).bin", "file.bin"])
            #expect(try rig.text(at: rig.path) == "mine")
        }
    }

    @Test func renamesANamedFileWhenTold() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            try rig.put("mine", at: rig.path)
            let done = try await rig.download { $0.onConflict = .rename }
            #expect(done.path == rig.folder + "/file (1).bin")
            #expect(try content.matches(fileAt: done.path))
        }
    }

    @Test func overwritesOnlyWithACompleteFile() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            try rig.put("mine", at: rig.path)
            let wrong = try DownloadRequest.Checksum("md5:00000000000000000000000000000000")
            let error = try await rig.failure { request in
                request.onConflict = .overwrite
                request.checksum = wrong
            }
            #expect(error.code == .checksumMismatch)
            #expect(try rig.text(at: rig.path) == "mine")
        }
        try await DownloaderRig.run(serving: content.resource()) { rig in
            try rig.put("mine", at: rig.path)
            try await rig.download { $0.onConflict = .overwrite }
            #expect(try rig.holdsOnly(content))
        }
    }

    @Test(arguments: [1000, 400_000]) func aFileThatReplacesAnotherKeepsItsPermissions(_ count: Int64) async throws {
        let content = TestContent(seed: 3, count: count)
        try await DownloaderRig.run(serving: content.resource()) { rig in
            try rig.put("mine", at: rig.path)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: rig.path)
            try await rig.download { $0.onConflict = .overwrite }
            #expect(try rig.holdsOnly(content))
            let mode = try FileManager.default.attributesOfItem(atPath: rig.path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
        }
    }

    @Test func skipsANamedFileWithoutAsking() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            try rig.put("mine", at: rig.path)
            let done = try await rig.download { $0.onConflict = .skip }
            #expect(done.alreadyExisted)
            #expect(done.bytes == 4)
            #expect(rig.server.requests.isEmpty)
            #expect(try rig.text(at: rig.path) == "mine")
        }
    }

    @Test func skipsAFileOnceItsNameIsKnown() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            try rig.put("mine", at: rig.path)
            var request = try toFolder(rig)
            request.onConflict = .skip
            let done = try await rig.download(request)
            #expect(done.alreadyExisted)
            #expect(done.path == rig.path)
            #expect(try rig.names() == ["file.bin"])
            #expect(try rig.text(at: rig.path) == "mine")
        }
    }

    /// A folder under the name of the file is not the complete file.
    @Test(arguments: [true, false]) func aFolderIsNoFileToSkip(_ isNamed: Bool) async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            try FileManager.default.createDirectory(atPath: rig.path, withIntermediateDirectories: false)
            var request = isNamed ? try rig.request() : try toFolder(rig)
            request.onConflict = .skip
            let error = await #expect(throws: DownloadError.self) { try await rig.download(request) }
            #expect(error?.message.contains("is not a regular file") == true)
            #expect(try rig.names() == ["file.bin"])
        }
    }

    @Test func failsWhenTheNameIsTakenMeanwhile() async throws {
        try await DownloaderRig.run(serving: content.resource().silent(after: 10_000).thenWhole()) { rig in
            let download = try await rig.paused(try rig.request(), at: 10_000)
            try rig.put("mine", at: rig.path)
            try await download.resume()
            let error = await #expect(throws: DownloadError.self) { try await download.result() }
            #expect(error?.code == .fileExists)
            #expect(try rig.text(at: rig.path) == "mine")
            #expect(try rig.names() == ["file.bin", "file.bin.haulpart"])
        }
    }

    @Test func publishesUnderTheNextNameWhenTheFirstIsTakenMeanwhile() async throws {
        try await DownloaderRig.run(serving: content.resource().silent(after: 10_000).thenWhole()) { rig in
            let download = try await rig.paused(try toFolder(rig), at: 10_000)
            try rig.put("mine", at: rig.path)
            try await download.resume()
            #expect(try await download.result().path == rig.folder + "/file (1).bin")
            #expect(try rig.names() == ["file (1).bin", "file.bin"])
            #expect(try rig.text(at: rig.path) == "mine")
        }
    }

    @Test(arguments: [true, false])
    func neverFollowsASymbolicLink(isDangling: Bool) async throws {
        for policy in DownloadRequest.ConflictPolicy.allCases {
            try await DownloaderRig.run(serving: content.resource()) { rig in
                let secret = rig.root + "/secret"
                if !isDangling { try rig.put("mine", at: secret) }
                try FileManager.default.createSymbolicLink(atPath: rig.path, withDestinationPath: secret)
                let download = try await rig.downloader.add(try rig.request { $0.onConflict = policy })
                let result = await Result { () async throws(DownloadError) in try await download.result() }
                #expect(FileManager.default.fileExists(atPath: secret) == !isDangling)
                if !isDangling { #expect(try rig.text(at: secret) == "mine") }
                switch policy {
                case .fail: #expect(result.code == .fileExists)
                case .rename: #expect(try content.matches(fileAt: rig.folder + "/file (1).bin"))
                case .skip: #expect(result.code == nil)
                // Replaces the symbolic link, not its target.
                case .overwrite: #expect(try rig.holdsOnly(content))
                }
            }
        }
    }

    @Test func neverWritesThroughALinkAtThePartialFile() async throws {
        for policy in DownloadRequest.ConflictPolicy.allCases {
            try await DownloaderRig.run(serving: content.resource()) { rig in
                let secret = rig.root + "/secret"
                try rig.put("mine", at: secret)
                try FileManager.default.createSymbolicLink(
                    atPath: rig.path + ".haulpart",
                    withDestinationPath: secret
                )
                let download = try await rig.downloader.add(try rig.request { $0.onConflict = policy })
                _ = await Result { () async throws(DownloadError) in try await download.result() }
                #expect(try rig.text(at: secret) == "mine")
            }
        }
    }
}

extension Result where Failure == DownloadError {
    fileprivate init(_ body: () async throws(DownloadError) -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }

    fileprivate var code: DownloadError.Code? {
        if case .failure(let error) = self { return error.code }
        return nil
    }
}

extension FileResource {
    /// Returns a handler whose first answer is that of this resource and whose later answers are complete.
    func thenWhole() -> DownloaderRig.Handler {
        var whole = self
        whole.bodyLimit = nil
        whole.ending = .complete
        let rest = whole
        return { $0.requestNumber == 1 ? self.reply(to: $0) : rest.reply(to: $0) }
    }
}
