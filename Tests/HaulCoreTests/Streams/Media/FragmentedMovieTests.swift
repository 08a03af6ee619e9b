import Testing

@testable import HaulCore

struct FragmentedMovieTests {
    @Test func readsTracksAndClocks() throws {
        let movie = try FragmentedMovie(TestMovie.sound.initSection)
        #expect(movie.timescale == 1000)
        #expect(movie.tracks.map(\.id) == [1] && movie.tracks.map(\.timescale) == [500])
        #expect(movie.tracks.map(\.handler) == ["soun"])
        #expect(movie.brands == ["iso6", "dby1"])
    }

    @Test(arguments: ["encv", "enca"] as [BoxType])
    func refusesEncryptedSamples(_ entry: BoxType) {
        let movie = TestMovie(tracks: [TestMovie.Track(sampleEntry: entry)])
        #expect(throws: MediaError.protected) { try FragmentedMovie(movie.initSection) }
    }

    @Test func refusesWhatIsNoFragmentedFilm() {
        let refused: [TestMovie] = [
            TestMovie(timescale: 0), TestMovie(tracks: []), TestMovie(tracks: [TestMovie.Track(timescale: 0)]),
            TestMovie(tracks: [TestMovie.Track(id: 0)]), TestMovie(tracks: [TestMovie.Track(), TestMovie.Track()]),
            TestMovie(tracks: [TestMovie.Track(hasDefaults: false)]), TestMovie(tracks: [TestMovie.Track(chunks: 1)]),
            TestMovie(tracks: (1...40).map { TestMovie.Track(id: $0) }),
        ]
        for movie in refused { #expect(throws: MediaError.self) { try FragmentedMovie(movie.initSection) } }
        #expect(throws: MediaError.missing("moov", in: "init section")) {
            try FragmentedMovie(.box("ftyp", TestMovie.zeros(8)))
        }
        #expect(throws: MediaError.notABox(position: 0)) { try FragmentedMovie(Array("<!DOCTYPE html>".utf8)) }
    }

    @Test func neitherTrapsNorAcceptsATruncatedInitSection() {
        let bytes = TestMovie.picture.initSection
        for length in 0..<bytes.count {
            #expect(throws: MediaError.self) { try FragmentedMovie(Array(bytes.prefix(length))) }
        }
    }

    @Test func trapsAtNoByteOfAnInitSectionOrSegment() throws {
        let start = TestMovie.picture.initSection
        let segment = TestFragment(at: 0, [[1], [2]]).bytes
        for value in [0, 1, 0x7f, 0xff] as [UInt8] {
            for position in start.indices {
                var changed = start
                changed[position] = value
                guard let movie = try? FragmentedMovie(changed) else { continue }
                _ = try? TestFilm.merge([MovieMerge.Rendition(movie)], [[segment]])
            }
            let movie = try FragmentedMovie(start)
            for position in segment.indices {
                var changed = segment
                for byte in position..<min(position + 4, segment.count) { changed[byte] = value }
                _ = try? TestFilm.merge([MovieMerge.Rendition(movie)], [[changed]])
            }
        }
    }

    @Test func readsBillionsOfEqualSamplesAtOnce() throws {
        // 2^32 - 1 samples of no bytes and no duration, in a run of 16 bytes.
        let header = [UInt8].fullBox("tfhd", flags: 0x2_0000, TestMovie.words([1]))
        let run = [UInt8].fullBox("trun", TestMovie.words([.max]))
        let moof = [UInt8].box("moof", [UInt8].box("traf", header + run))
        let movie = try FragmentedMovie(TestMovie.picture.initSection)
        let stored = try TestFilm.fragments(of: moof)
        #expect(try MovieFragment(stored[0], of: movie).tracks[0].duration == 0)
    }
}
