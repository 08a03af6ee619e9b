import HaulCore
import HaulTesting
import Testing

@testable import HaulKit

/// A further request for a URL whose film is there.
struct StreamAgainTests {
    private let film = TestStream(8)

    @Test func takesTheFilmThatIsThere() async throws {
        let site = StreamSite(film)
        try await site.run { rig in
            try await rig.download(try rig.film())
            let asked = rig.server.requests.count
            for change: (inout DownloadRequest.Stream) -> Void in [
                { _ in }, { $0.variant = "best" }, { $0.container = .automatic }, { $0.allowsGaps = true },
            ] {
                #expect(try await rig.download(try rig.film(StreamSite.list, change)).alreadyExisted)
            }
            #expect(rig.server.requests.count == asked)
        }
    }

    @Test func takesNoFilmForAnotherOneOfItsURL() async throws {
        let site = StreamSite(film)
        try await site.run { rig in
            try await rig.download(try rig.film())
            for change: (inout DownloadRequest.Stream) -> Void in [
                { $0.variant = "smallest" }, { $0.audio = "de" }, { $0.subtitles = "all" }, { $0.container = .mp4 },
                { $0.keepsPlaylist = true }, { $0.liveSeconds = 3 },
            ] {
                #expect(try await rig.failure(of: try rig.film(StreamSite.list, change)).code == .fileExists)
            }
            #expect(try rig.holdsOnly(film.content))
        }
    }

    @Test func takesNoPlaylistForItsFilm() async throws {
        let site = StreamSite(film)
        try await site.run { rig in
            try await rig.download(try rig.film { $0.keepsPlaylist = true })
            #expect(try await rig.failure(of: try rig.film()).code == .fileExists)
            #expect(try await rig.download(try rig.film { $0.keepsPlaylist = true }).alreadyExisted)
        }
    }
}
