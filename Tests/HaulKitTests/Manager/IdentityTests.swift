import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Keys of the application, and adding a download that exists.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct IdentityTests {
    @Test func findsADownloadByItsKeyWhateverItsURL() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let first = try await rig.downloader.add(try rig.named("lesson") { $0.key = "course/lesson 1" })
            _ = try await first.result()
            let again = try await rig.downloader.add(
                try rig.named("elsewhere", "fast") { $0.key = "course/lesson 1" }
            )
            #expect(again.id == first.id)
            #expect(try await rig.downloader.find(key: "course/lesson 1")?.id == first.id)
            #expect(try await rig.downloader.find(key: "course/lesson 2") == nil)
        }
    }

    @Test func keepsKeysAcrossRestarts() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let first = try await rig.downloader.add(try rig.named("a", "slow") { $0.key = "k" })
            try await first.pause()
            try await rig.reopened { next async throws in
                let found = try #require(try await next.find(key: "k"))
                #expect(found.id == first.id)
                #expect(found.snapshot.key == "k")
                #expect(found.snapshot.state == .paused)
            }
        }
    }

    @Test func aRequestJoinsNoDownloadOfAnotherOwner() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let paused = try rig.named("a", "slow") {
                $0.owner = "ada"
                $0.startsPaused = true
            }
            let keyed = try rig.named("b") {
                $0.owner = "ada"
                $0.key = "k"
            }
            let first = try await rig.downloader.add(paused)
            _ = try await rig.downloader.add(keyed).result()
            for request in [paused, keyed] {
                for policy in [DownloadRequest.PresencePolicy.join, .joinUnlessPaused] {
                    var other = request
                    (other.owner, other.onDuplicate) = ("grace", policy)
                    let error = await #expect(throws: DownloadError.self) { try await rig.downloader.add(other) }
                    #expect(error?.code == .alreadyAdded)
                }
            }
            var anonymous = paused
            anonymous.owner = nil
            #expect(try await rig.downloader.add(anonymous).id == first.id)
            #expect(try await rig.downloader.add(paused).id == first.id)
            #expect(try await rig.downloader.list(DownloadFilter(owner: "ada")).count == 2)
        }
    }

    @Test func twoOfOneKeyInAListAreOneDownload() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let results = await rig.downloader.add([
                try rig.named("a") { $0.key = "k" }, try rig.named("b") { $0.key = "k" }, try rig.named("c"),
            ])
            let ids = try results.map { try $0.get().id }
            #expect(ids[0] == ids[1])
            #expect(ids[2] != ids[0])
            #expect(try await rig.downloader.count() == 2)
        }
    }

    @Test func refusesWhatIsThereWhenAsked() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            _ = try await rig.download(try rig.named("a"))
            let error = await #expect(throws: DownloadError.self) {
                try await rig.downloader.add(try rig.named("a") { $0.onDuplicate = .refuse })
            }
            #expect(error?.code == .alreadyAdded)
        }
    }

    @Test func addsBesideWhenAsked() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            func request() throws -> DownloadRequest {
                try rig.request("/fast/x.bin") {
                    $0.destination = .folder(path: rig.folder)
                    $0.onDuplicate = .addAnyway
                }
            }
            let first = try await rig.downloader.add(try request())
            let second = try await rig.downloader.add(try request())
            #expect(first.id != second.id)
            _ = try await first.result()
            _ = try await second.result()
            #expect(try rig.names() == ["x (1).bin", "x.bin"])
            // Only one download can have a named file.
            let named = try rig.named("y") { $0.onDuplicate = .addAnyway }
            _ = try await rig.download(named)
            let error = await #expect(throws: DownloadError.self) { try await rig.downloader.add(named) }
            #expect(error?.code == .alreadyAdded)
        }
    }

    @Test func givesBackMetadataAsItsType() async throws {
        struct Episode: Codable, Equatable {
            var title: String
            var season: Int
        }
        try await DownloaderRig.runManyFiles { rig async throws in
            let episode = Episode(title: "Pilot \"1\"", season: 3)
            var request = try rig.named("a") { $0.owner = "ada" }
            request.metadata = try DownloadRequest.Metadata(episode)
            let download = try await rig.downloader.add(request)
            _ = try await download.result()
            try await rig.reopened { next async throws in
                let found = try #require(try await next.list(DownloadFilter(owner: "ada")).first)
                #expect(try found.metadata?.decoded(as: Episode.self) == episode)
                #expect(throws: DecodingError.self) { try found.metadata?.decoded(as: [Int].self) }
            }
        }
    }

    @Test func downloadersOfDifferentNamesKnowNothingOfOneAnother() async throws {
        try await DownloaderRig.runManyFiles { rig in
            var configuration = rig.configuration
            configuration.storage.name = "other"
            try await rig.another(configuration) { other async throws in
                let here = try await rig.downloader.add(try rig.named("a") { $0.key = "k" })
                let there = try await other.add(try rig.named("b") { $0.key = "k" })
                #expect(here.id != there.id)
                #expect(try await here.result().path != there.result().path)
                #expect(try await rig.downloader.list().map(\.id) == [here.id])
                #expect(try await other.list().map(\.id) == [there.id])
                try await other.pause(.all)
            }
            #expect(try await rig.downloader.count() == 1)
        }
    }

    @Test(arguments: ["", "a/b", "..", ".hidden"])
    func refusesANameThatIsNone(_ name: String) async throws {
        await #expect(throws: DownloadError.self) { try await Downloader(name: name) }
    }
}
