import Testing

@testable import HaulCore

/// The time before the first sample of a film that begins late.
struct FilmStartTests {
    private func film(_ renditions: [(TestMovie, UInt32)]) throws -> TestFilm {
        try TestFilm(
            try renditions.map { MovieMerge.Rendition(try FragmentedMovie($0.0.initSection)) },
            renditions.map { [TestFragment(at: $0.1, [[1]]).bytes] }
        )
    }

    @Test func takesTheSameTimeFromAllTracks() throws {
        // 10.1 s of the picture's clock, 10.3 s of the sound's clock.
        let film = try film([(.picture, 10_100), (.sound, 5150)])
        #expect(film.samples.map(\.time) == [0, 100])
    }

    @Test func roundsNoTimestamp() throws {
        // Both clocks have tenths of a second in common: 0.05 s stay.
        let picture = TestMovie(timescale: 10, tracks: [TestMovie.Track(timescale: 1000)])
        let sound = TestMovie(timescale: 10, tracks: [TestMovie.Track(handler: "soun", timescale: 10)])
        #expect(try film([(picture, 20_050), (sound, 201)]).samples.map(\.time) == [50, 1])
    }

    @Test func takesAStartWithinTheFirstSecond() throws {
        #expect(try film([(.picture, 900), (.sound, 480)]).samples.map(\.time) == [0, 30])
    }

    @Test func takesTheTimeFromAnEmptyEdit() throws {
        let late = TestMovie(tracks: [TestMovie.Track(edits: [(20_000, -1), (0, 0)])])
        let film = try film([(late, 0), (.sound, 10_100)])
        #expect(film.samples.map(\.time) == [0, 100])
        #expect(film.movie.tracks[0].edits.map(\.duration) == [0])
    }

    @Test func leavesAStartThatTheEditListTakesAway() throws {
        let edited = TestMovie(tracks: [TestMovie.Track(edits: [(0, 10_000)])])
        #expect(try film([(edited, 10_000)]).samples.map(\.time) == [10_000])
        #expect(try film([(edited, 10_000)]).movie.tracks[0].edits.map(\.mediaTime) == [10_000])
    }

    @Test func keepsTheStartWithAnEditListThatSaysMore() throws {
        let edited = TestMovie(tracks: [TestMovie.Track(edits: [(100, 0), (0, 5000)])])
        #expect(try film([(edited, 10_000)]).samples.map(\.time) == [10_000])
    }

    @Test func countsEditsInTheFilmsClock() throws {
        let picture = TestMovie(timescale: 600, tracks: [TestMovie.Track(edits: [(60, -1), (0, 0)])])
        let sound = TestMovie(timescale: 1000, tracks: [TestMovie.Track(edits: [(50, -1), (0, 0)])])
        let film = try film([(picture, 0), (sound, 0)])
        #expect(film.movie.timescale == 3000)
        #expect(film.movie.tracks.map { $0.edits.map(\.duration) } == [[150, 0], [0]])
    }

    @Test func comparesTimesOfDifferentClocksExactly() {
        #expect(MediaTime(ticks: 1 << 61, scale: 90_000) < MediaTime(ticks: 1 << 61, scale: 89_999))
        #expect(MediaTime(ticks: 90_000, scale: 90_000) == MediaTime(ticks: 44_100, scale: 44_100))
        #expect(MediaTime(ticks: -1, scale: 2).ticks(of: 1) == -1)
        #expect(MediaTime(ticks: .max, scale: 1).ticks(of: .max) == .max)
    }
}
