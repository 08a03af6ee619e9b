import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Finished downloads and their files on a real disk.
@Suite(.timeLimit(.minutes(60)))
struct CacheTests {
    private let content = TestContent.first

    private func run(_ test: (DownloaderRig) async throws -> Void) async throws {
        try await DownloaderRig.run(serving: content.resource(), test)
    }

    private func fetch(_ rig: DownloaderRig, _ names: String...) async throws -> [Download] {
        var downloads: [Download] = []
        for name in names {
            let request = try rig.request("/" + name) { $0.destination = .file(path: rig.folder + "/" + name) }
            let download = try await rig.downloader.add(request)
            _ = try await download.result()
            downloads.append(download)
        }
        return downloads
    }

    @Test func saysWhatIsStoredAndHowMuch() async throws {
        try await run { rig in
            let downloads = try await fetch(rig, "a", "b")
            let files = try await rig.downloader.files.list()
            #expect(files.map(\.path) == ["a", "b"].map { rig.folder + "/" + $0 })
            #expect(
                files.allSatisfy { $0.state == .unchanged && $0.bytes == Int64(content.count) && $0.finishedAt != nil }
            )
            let sums = try await rig.downloader.storedBytes()
            #expect(sums.finishedFiles == 2 && sums.finished == 2 * Int64(content.count) && sums.unfinished == 0)
            #expect(try await rig.downloader.files.storedBytes() == sums.total)
            #expect(
                try await rig.downloader.files.list(DownloadFilter(offset: 1, limit: 1)).map(\.id) == [downloads[1].id]
            )
            #expect(try await rig.downloader.files.missing().isEmpty)
            let free = try await rig.downloader.files.freeDiskSpace(at: rig.folder + "/not/there/yet")
            #expect(free ?? 0 > 0)
        }
    }

    @Test func saysWhatHasBecomeOfAFileAndFetchesItAgain() async throws {
        try await run { rig in
            let downloads = try await fetch(rig, "kept", "gone", "changed")
            try FileManager.default.removeItem(atPath: rig.folder + "/gone")
            try rig.put("mine", at: rig.folder + "/changed")
            var states: [FileState?] = []
            for download in downloads { states.append(try await download.fileState()) }
            #expect(states == [.unchanged, .missing, .changed])
            #expect(try await rig.downloader.files.missing().map(\.id) == [downloads[1].id, downloads[2].id])

            let again = try await rig.downloader.fetchAgain(downloads[1].id)
            #expect(again.id == downloads[1].id)
            #expect(try await again.result().alreadyExisted == false)
            #expect(try content.matches(fileAt: rig.folder + "/gone"))
            #expect(try await again.fileState() == .unchanged)
            // The file at this path was put there by the user.
            let other = try await rig.downloader.fetchAgain(downloads[2].id)
            await #expect(throws: DownloadError.self) { try await other.result() }
            #expect(try rig.text(at: rig.folder + "/changed") == "mine")
            let requests = rig.server.requests.count
            let kept = try await downloads[0].fetchAgain()
            #expect(try await kept.result().alreadyExisted)
            #expect(rig.server.requests.count == requests)
        }
    }

    @Test func removesFinishedFilesThatAreStillWhatWasDownloaded() async throws {
        try await run { rig in
            let downloads = try await fetch(rig, "kept", "gone", "changed")
            try FileManager.default.removeItem(atPath: rig.folder + "/gone")
            try rig.put("mine", at: rig.folder + "/changed")
            #expect(try await rig.downloader.files.removeFinished(olderThan: .seconds(3600)) == CacheRemoval())
            let result = try await rig.downloader.files.removeFinished(olderThan: .zero)
            #expect(result.removed.map(\.id) == [downloads[0].id, downloads[1].id])
            #expect(result.left.map(\.state) == [.changed] && result.left.allSatisfy { $0.error == nil })
            #expect(result.freedBytes == Int64(content.count))
            #expect(try rig.names() == ["changed"])
            #expect(try await rig.downloader.list().map(\.id) == [downloads[2].id])
        }
    }

    @Test func forgetsRecordsAndLeavesTheFiles() async throws {
        try await run { rig in
            _ = try await fetch(rig, "a", "b")
            let result = try await rig.downloader.removeFinished(before: .distantFuture, deletingFiles: false)
            #expect(result.removed.count == 2 && result.freedBytes == 0)
            #expect(try rig.names() == ["a", "b"])
            #expect(try await rig.downloader.count() == 0)
        }
    }

    @Test func removesNothingOfBeforeAllTime() async throws {
        try await run { rig in
            _ = try await fetch(rig, "a")
            for seconds in [-1e300, -1e11, .nan, -.infinity] {
                let date = Date(timeIntervalSince1970: seconds)
                #expect(try await rig.downloader.removeFinished(before: date) == CacheRemoval())
            }
            #expect(try await rig.downloader.files.removeFinished(olderThan: .seconds(Int64.max)) == CacheRemoval())
        }
    }

    @Test func clearsEverything() async throws {
        try await DownloaderRig.run(serving: { request in
            let resource = content.resource()
            return (request.target == "/half" ? resource.silent(after: 1000) : resource).reply(to: request)
        }) { rig in
            _ = try await fetch(rig, "a")
            let half = try await rig.downloader.add(
                try rig.request("/half") { $0.destination = .file(path: rig.folder + "/half") }
            )
            await half.reaches(1000)
            let result = try await rig.downloader.files.clear()
            #expect(result.removed.count == 1 && result.left.isEmpty)
            #expect(try rig.names().isEmpty)
            #expect(try await rig.downloader.count() == 0)
        }
    }
}

struct ChecksumBatchTests {
    @Test func comparesManyFilesEachByItsOwnAlgorithm() async throws {
        let folder = try TemporaryFolder()
        var files: [String: DownloadRequest.Checksum] = [:]
        let digests = [
            "md5:900150983cd24fb0d6963f7d28e17f72", "sha1:a9993e364706816aba3e25717850c26c9cd0d89d",
            "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            "sha512:ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd"
                + "454d4423643ce80e2a9ac94fa54ca49f",
        ]
        for (number, digest) in digests.enumerated() {
            let path = folder.path + "/\(number)"
            try Data("abc".utf8).write(to: URL(fileURLWithPath: path))
            let checksum = try DownloadRequest.Checksum(digest)
            files[path] = checksum
        }
        let wrong = try DownloadRequest.Checksum("md5:00000000000000000000000000000000")
        files[folder.path + "/missing"] = wrong
        let other = folder.path + "/other"
        try Data("abc".utf8).write(to: URL(fileURLWithPath: other))
        files[other] = wrong
        for atOnce in [nil, 1, 100, -3] {
            let verdicts = await DownloadRequest.Checksum.verify(files, atOnce: atOnce)
            #expect(verdicts.count == 6)
            for number in digests.indices { #expect(verdicts[folder.path + "/\(number)"] == .right) }
            let actual = try DownloadRequest.Checksum(digests[0])
            #expect(verdicts[other] == .wrong(actual: actual))
            guard case .failed? = verdicts[folder.path + "/missing"] else {
                Issue.record("a file that is missing has a digest")
                return
            }
        }
    }

    @Test func readsNothingOnceItsTaskIsCancelled() async throws {
        let checksum = try DownloadRequest.Checksum("md5:900150983cd24fb0d6963f7d28e17f72")
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await DownloadRequest.Checksum.verify(["/dev/null": checksum, "/etc/passwd": checksum])
        }
        let decision = await task.value["/etc/passwd"]
        guard case .failed(let error)? = decision else {
            Issue.record("\(decision as Any)")
            return
        }
        #expect(error.code == .cancelled)
    }
}
