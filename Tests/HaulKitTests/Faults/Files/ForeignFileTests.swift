import Foundation
import HaulTesting
import Synchronization
import Testing

@testable import HaulCore
@testable import HaulKit

/// A foreign file at the path of a partial file is not written, published or deleted.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct ForeignFileTests {
    private let content = TestContent.first

    enum Foreign: String, CaseIterable, Sendable {
        case pipe, hardLink, symbolicLink, folder

        func put(at path: String, _ rig: DownloaderRig) throws {
            let other = rig.root + "/other"
            try rig.put("a user's", at: other)
            switch self {
            case .pipe: try #require(mkfifo(path, 0o600) == 0)
            case .hardLink: try #require(link(other, path) == 0)
            case .symbolicLink: try #require(symlink(other, path) == 0)
            case .folder: try #require(mkdir(path, 0o700) == 0)
            }
        }
    }

    private func mode(_ path: String) throws -> mode_t {
        var status = stat()
        try #require(lstat(path, &status) == 0)
        return status.st_mode & S_IFMT
    }

    @Test(arguments: Foreign.allCases, [nil, .overwrite] as [DownloadRequest.ConflictPolicy?])
    func leavesAloneWhatIsNoFileOfItsOwn(_ foreign: Foreign, _ policy: DownloadRequest.ConflictPolicy?) async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            let part = rig.path + ".haulpart"
            try foreign.put(at: part, rig)
            let before = try mode(part)
            let error = try await rig.failure { $0.onConflict = policy }
            #expect(error.message.contains(part))
            #expect(try mode(part) == before)
            #expect(try rig.names() == ["file.bin.haulpart"])
            #expect(try rig.text(at: rig.root + "/other") == "a user's")
        }
    }

    @Test(arguments: Foreign.allCases)
    func takesAnotherNameInAFolder(_ foreign: Foreign) async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            try foreign.put(at: rig.path + ".haulpart", rig)
            let done = try await rig.download { $0.destination = .folder(path: rig.folder) }
            #expect(done.path == rig.folder + "/file (1).bin")
            #expect(try content.matches(fileAt: done.path))
            #expect(try rig.names() == ["file (1).bin", "file.bin.haulpart"])
            #expect(try rig.text(at: rig.root + "/other") == "a user's")
        }
    }

    // MARK: In the middle of a run

    /// Breaks off the first answer, and calls `happens` with the partial file before the second answer.
    private func meanwhile(
        _ happens: @escaping @Sendable (_ part: String) -> Void,
        then status: Int? = nil,
        _ test: (DownloaderRig) async throws -> Void
    ) async throws {
        let (resource, broken) = (content.resource(), content.resource().breaking(after: cut))
        let place = Place()
        try await DownloaderRig.run(serving: { request in
            guard request.requestNumber == 2 else {
                return request.requestNumber == 1 ? broken.reply(to: request) : resource.reply(to: request)
            }
            happens(place.path)
            return status.map { .empty($0, "No") } ?? resource.reply(to: request)
        }) { rig in
            place.path = rig.path + ".haulpart"
            try await test(rig)
        }
    }

    private final class Place: Sendable {
        private let value = Mutex("")
        var path: String {
            get { value.withLock(\.self) }
            set { value.withLock { $0 = newValue } }
        }
    }

    private static let swap: @Sendable (String) -> Void = { part in
        rename(part, part + ".moved")
        _ = FileManager.default.createFile(atPath: part, contents: Data("a user's".utf8))
    }

    @Test(arguments: [nil, .overwrite] as [DownloadRequest.ConflictPolicy?])
    func publishesNothingThatTookThePlaceOfThePartialFile(_ policy: DownloadRequest.ConflictPolicy?) async throws {
        try await meanwhile(Self.swap) { rig in
            let error = try await rig.failure { $0.onConflict = policy }
            #expect(error.code == .diskFailed && error.message.contains("file.bin.haulpart"))
            #expect(try rig.names() == ["file.bin.haulpart", "file.bin.haulpart.moved"])
            #expect(try rig.text(at: rig.path + ".haulpart") == "a user's")
        }
    }

    @Test func deletesNothingThatTookThePlaceOfThePartialFileWhenTheRunFails() async throws {
        try await meanwhile(Self.swap, then: 404) { rig async throws in
            #expect(try await rig.failure().code == .refusedByServer)
            #expect(try rig.text(at: rig.path + ".haulpart") == "a user's")
        }
    }

    @Test func deletesNothingThatTookThePlaceOfThePartialFileWhenItIsRemoved() async throws {
        try await DownloaderRig.run(serving: content.resource().silentFirst()) { rig in
            let download = try await rig.paused(try rig.request(), at: cut)
            Self.swap(rig.path + ".haulpart")
            try await download.cancel()
            #expect(try rig.text(at: rig.path + ".haulpart") == "a user's")
        }
    }

    @Test(arguments: [0, 100_000]) func publishesNothingThatWasCutInTheRun(_ length: Int) async throws {
        try await meanwhile({ truncate($0, length) }) { rig in
            let error = try await rig.failure()
            #expect(error.code == .diskFailed && error.message.contains("cut short"))
            #expect(try !rig.names().contains("file.bin"))
            // A repeated download fetches the whole file.
            try await rig.download()
            #expect(try rig.holdsOnly(content))
        }
    }

    // MARK: Two stores

    @Test(arguments: [nil, .overwrite] as [DownloadRequest.ConflictPolicy?])
    func neverMixesTheFilesOfTwoStores(_ policy: DownloadRequest.ConflictPolicy?) async throws {
        let (one, two) = (content, TestContent.second.resource(etag: "\"two\""))
        let asked = CallCounter()
        // The server sends only the head of the first file and then nothing, so that its partial file stays empty and
        // its record valid.
        try await DownloaderRig.run(serving: { request in
            if request.path == "/two" {
                return (asked.next() == 1 ? two.silent(after: 30_000) : two).reply(to: request)
            }
            if request.requestNumber > 1 { return one.resource().reply(to: request) }
            let head = one.resource().reply(to: request).steps[0]
            return TestReply([head, .stall])
        }) { rig in
            let first = try await rig.downloader.add(try rig.request("/one") { $0.onConflict = policy })
            while try rig.names().isEmpty { try await Task.sleep(for: .milliseconds(2)) }
            try await first.pause()
            try #require(try rig.names() == ["file.bin.haulpart"])

            try await rig.another(DownloaderRig.quick(stateFolder: rig.root + "/other-state")) { second async throws in
                var request = try rig.request("/two")
                request.onConflict = policy
                let other = try await second.add(request)
                await other.reaches(20_000)
                try await other.pause()

                // The partial file of `first` is gone, and the file of the other store is not continued in its place.
                let result: Result<CompletedDownload, any Error>
                try await first.resume()
                do { result = .success(try await first.result()) } catch { result = .failure(error) }
                if let policy {
                    #expect(policy == .overwrite)
                    #expect(throws: Never.self) { try result.get() }
                    #expect(try one.matches(fileAt: rig.path))
                } else {
                    #expect(throws: DownloadError.self) { try result.get() }
                    try await other.resume()
                    _ = try await other.result()
                    #expect(try two.content.matches(fileAt: rig.path))
                }
            }
        }
    }

    // MARK: Names

    @Test(arguments: ["x.haulpart", "x.HaulPart"])
    func refusesANameThatIsOneOfPartialFiles(_ name: String) async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig async throws in
            let error = await #expect(throws: DownloadError.self) {
                try await rig.downloader.add(try rig.request { $0.destination = .file(path: rig.folder + "/" + name) })
            }
            #expect(error?.code == .invalidDestination)
            #expect(try rig.names() == [])
            #expect(rig.server.requests.isEmpty)
        }
    }

    @Test func givesNoFileTheNameOfAPartialOneBecauseTheServerSaysSo() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            try rig.put("of another download", at: rig.folder + "/x.haulpart")
            let done = try await rig.download("/x.haulpart") { $0.destination = .folder(path: rig.folder) }
            #expect(done.path == rig.folder + "/x_haulpart")
            #expect(try rig.text(at: rig.folder + "/x.haulpart") == "of another download")
        }
    }
}
