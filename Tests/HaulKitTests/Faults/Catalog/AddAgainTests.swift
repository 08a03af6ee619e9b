import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Adding the same request again: in the same run, in a later run, and after a change of the file.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct AddAgainTests {
    private let content = TestContent.first

    @Test(arguments: [true, false])
    func asksNobodyForAFileThatIsComplete(isNewProcess: Bool) async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            #expect(try await !rig.download().alreadyExisted)
            if isNewProcess {
                try await rig.reopened { next async throws in
                    let done = try await next.add(try rig.request()).result()
                    #expect(done.alreadyExisted)
                    #expect(done.bytes == content.count)
                }
            } else {
                _ = try await rig.download()
            }
            #expect(rig.server.requests.count == 1)
            #expect(try rig.holdsOnly(content))
        }
    }

    @Test(arguments: [true, false])
    func fetchesAFileAnewThatWasDeleted(isNewProcess: Bool) async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            try await rig.download()
            try FileManager.default.removeItem(atPath: rig.path)
            if isNewProcess {
                try await rig.reopened { next async throws in
                    #expect(try await !next.add(try rig.request()).result().alreadyExisted)
                }
            } else {
                #expect(try await !rig.download().alreadyExisted)
            }
            #expect(rig.server.requests.count == 2)
            #expect(try rig.holdsOnly(content))
        }
    }

    @Test func fetchesAFileAnewThatWasChanged() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            let folder = try rig.request { $0.destination = .folder(path: rig.folder) }
            try await rig.download(folder)
            try rig.put("changed", at: rig.path)
            let done = try await rig.download(folder)
            #expect(done.path == rig.folder + "/file (1).bin")
            #expect(try content.matches(fileAt: done.path))
            // The changed first file belongs to the user and stays.
            #expect(try rig.text(at: rig.path) == "changed")
            #expect(rig.server.requests.count == 2)
        }
    }

    @Test(arguments: [true, false])
    func aCompleteFileAnswersForItsPathAndForItsFolder(isNamedFirst: Bool) async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            let named = try rig.request()
            let folder = try rig.request { $0.destination = .folder(path: rig.folder) }
            #expect(try await !rig.download(isNamedFirst ? named : folder).alreadyExisted)
            #expect(try await rig.download(isNamedFirst ? folder : named).alreadyExisted)
            #expect(rig.server.requests.count == 1)
            #expect(try rig.holdsOnly(content))
        }
    }

    private static let wrong = DownloadRequest.Checksum(.sha256, digest: [UInt8](repeating: 0, count: 32))

    @Test func aDigestForARunningDownloadIsRefusedAndNotDropped() async throws {
        try await DownloaderRig.run(serving: content.resource().silentFirst()) { rig in
            let download = try await rig.downloader.add(try rig.request())
            await download.reaches(cut)
            let failure = try await rig.failure { $0.checksum = Self.wrong }
            #expect(failure.code == .inUse)
            try await download.cancel()
        }
    }

    @Test(arguments: [true, false])
    func aPausedDownloadTakesTheDigestOfAnAdditionThatDoesNotStartIt(isNewProcess: Bool) async throws {
        try await DownloaderRig.run(serving: content.resource().silentFirst()) { rig in
            let download = try await rig.paused(try rig.request(), at: cut)
            let addition = try rig.request {
                $0.checksum = Self.wrong
                $0.startsPaused = true
            }
            func takes(_ downloader: Downloader, _ id: DownloadID) async throws {
                _ = try await downloader.add(addition)
                let again = try #require(try await downloader.find(id: id))
                try await again.resume()
                let failure = await #expect(throws: DownloadError.self) { try await again.result() }
                #expect(failure?.code == .checksumMismatch)
            }
            if isNewProcess {
                try await rig.reopened { next async throws in try await takes(next, download.id) }
            } else {
                try await takes(rig.downloader, download.id)
            }
        }
    }

    @Test func aRefutedDigestDoesNotBindARequestWithoutOne() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            #expect(try await rig.failure { $0.checksum = Self.wrong }.code == .checksumMismatch)
            try await rig.download()
            #expect(try content.matches(fileAt: rig.path))
        }
    }

    @Test func anotherNameIsAnotherDownload() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            let folder = try rig.request { $0.destination = .folder(path: rig.folder) }
            try await rig.download(folder)
            var named = folder
            named.suggestedName = "other.bin"
            #expect(try await rig.download(named).path == rig.folder + "/other.bin")
        }
    }

    @Test func doesNotReplaceANamedFileThatWasChanged() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            try await rig.download()
            try rig.put("changed", at: rig.path)
            #expect(try await rig.failure().code == .fileExists)
            #expect(try rig.text(at: rig.path) == "changed")
        }
    }

    @Test func takesUpInANewDownloaderWhatAShutDownInterrupted() async throws {
        try await DownloaderRig.run(serving: content.resource().silentFirst()) { rig in
            let download = try await rig.downloader.add(try rig.request())
            await download.reaches(cut)
            try await rig.reopened { next async throws in
                let error = await #expect(throws: DownloadError.self) { try await download.result() }
                #expect(error?.code == .shutDown)
                let done = try await next.add(try rig.request()).result()
                #expect(!done.alreadyExisted)
                #expect(try rig.holdsOnly(content))
            }
            #expect(rig.ranges == [nil, "bytes=\(cut)-"])
        }
    }

    @Test func takesUpByItselfWhatRan() async throws {
        try await DownloaderRig.run(
            configure: { $0.storage.restoration = .everything },
            serving: content.resource().silentFirst()
        ) { rig in
            let download = try await rig.downloader.add(try rig.request())
            await download.reaches(cut)
            try await rig.reopened { next async throws in
                let taken = try #require(try await next.find(id: download.id))
                _ = try await taken.result()
                #expect(try rig.holdsOnly(content))
            }
            #expect(rig.ranges == [nil, "bytes=\(cut)-"])
        }
    }

    @Test func aCatalogueThatIsAddedAgainLeavesPausedWhatWasPaused() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            var catalogue = [try rig.named("a"), try rig.named("b", "slow"), try rig.named("c", "missing")]
            for index in catalogue.indices { catalogue[index].onDuplicate = .joinUnlessPaused }
            let first = try await rig.downloader.add(catalogue).map { try $0.get() }
            _ = try await first[0].result()
            await first[1].reaches(1000)
            try await first[1].pause()
            _ = await first[2].outcome()
            let again = try await rig.downloader.add(catalogue).map { try $0.get() }
            #expect(again.map(\.id) == first.map(\.id))
            #expect(again[1].snapshot.state == .paused)
            try await rig.reopened { next async throws in
                let later = try await next.add(catalogue).map { try $0.get() }
                #expect(later.map(\.id) == first.map(\.id))
                #expect(later[1].snapshot.state == .paused && later[1].snapshot.receivedBytes == 1000)
                _ = await later[2].outcome()
                #expect(rig.server.requests.count { $0.path == "/slow/b" } == 1)
                #expect(rig.server.requests.count { $0.path == "/fast/a" } == 1)
                catalogue[1].onDuplicate = .join
                _ = try await next.add(catalogue[1])
                await later[1].reaches(1001)
                try await later[1].cancel()
            }
        }
    }

    @Test func leavesPausedWhatWasPaused() async throws {
        try await DownloaderRig.run(
            configure: { $0.storage.restoration = .everything },
            serving: content.resource().silentFirst()
        ) { rig in
            let download = try await rig.paused(try rig.request(), at: cut)
            try await rig.reopened { next async throws in
                let taken = try #require(try await next.find(id: download.id))
                #expect(taken.snapshot.state == .paused)
                #expect(taken.snapshot.receivedBytes == cut)
                #expect(rig.server.requests.count == 1)
            }
        }
    }

    @Test func addsNothingAfterTheShutDown() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            await rig.downloader.shutDown()
            let request = try rig.request()
            let error = await #expect(throws: DownloadError.self) { try await rig.downloader.add(request) }
            #expect(error?.code == .shutDown)
        }
    }

    @Test(arguments: ["ftp://127.0.0.1/x", "file:///etc/passwd", "x", "http:///x", "http://127.0.0.1:99999/"])
    func refusesWhatIsNoWebAddress(_ url: String) async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            let error = try await rig.failure(of: try rig.request(url: url))
            #expect([.invalidURL, .unsupportedScheme].contains(error.code))
        }
    }

    @Test func givesTheFileTheTimeOfTheServer() async throws {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT"
        for sets in [true, false] {
            try await DownloaderRig.run(serving: content.resource(lastModified: date)) { rig in
                try await rig.download { $0.setsModificationTime = sets }
                let attributes = try FileManager.default.attributesOfItem(atPath: rig.path)
                let time = try #require(attributes[.modificationDate] as? Date).timeIntervalSince1970
                #expect((time == 784_111_777) == sets)
                // The modification time belongs to the identity that tells whether the file is unchanged.
                _ = try await rig.download { $0.setsModificationTime = sets }
                #expect(rig.server.requests.count == 1)
            }
        }
    }

    @Test(arguments: ["yesterday", "Sun, 99 Nov 1994 08:49:37 GMT", ""])
    func passesOverATimeThatIsNone(_ date: String) async throws {
        try await DownloaderRig.run(serving: content.resource(lastModified: date)) { rig in
            try await rig.download { $0.setsModificationTime = true }
            #expect(try rig.holdsOnly(content))
        }
    }

    @Test func keepsTheHeadersOfADownloadThatIsAddedAgainWithoutAny() async throws {
        let resource = content.resource()
        try await DownloaderRig.run(serving: {
            ($0.range == nil ? resource.silent(after: 50_000) : resource).reply(to: $0)
        }) {
            rig async throws in
            let field = try #require(HeaderField("X-Token: secret"))
            _ = try await rig.paused(try rig.request { $0.headers = [field] }, at: 50_000)
            try await rig.download(try rig.request())
            #expect(rig.server.requests.count == 2)
            #expect(rig.server.requests.allSatisfy { $0["X-Token"] == "secret" })
        }
    }
}
