import Testing

@testable import HaulCore

struct MovieMergeTests {
    private func rendition(
        _ movie: TestMovie,
        language: String? = nil,
        leavesOutSound: Bool = false
    ) throws -> MovieMerge.Rendition {
        MovieMerge.Rendition(
            try FragmentedMovie(movie.initSection),
            language: language,
            leavesOutSound: leavesOutSound
        )
    }

    @Test func keepsEachSampleOfOneRenditionOnceAndInOrder() throws {
        let segments = (0..<5).map { TestFragment(at: UInt32($0 * 200), [[UInt8($0), 1], [UInt8($0), 2, 3]]).bytes }
        let film = try TestFilm([rendition(.picture)], [segments])
        #expect(film.samples.map(\.bytes) == (0..<5).flatMap { [[UInt8($0), 1], [UInt8($0), 2, 3]] })
        #expect(film.samples.map(\.time) == (0..<10).map { $0 * 100 })
        #expect(film.sequence == [1, 2, 3, 4, 5])
        #expect(duration(film) == 1000)
    }

    @Test func putsPictureAndSoundOfTheSameTimeIntoOneFragment() throws {
        let picture = (0..<3).map { TestFragment(at: UInt32($0 * 200), [[UInt8($0)], [9]]).bytes }
        // Two seconds of sound begin a little before the picture does.
        let sound = [
            TestFragment(at: 0, duration: 95, [[10]]).bytes, TestFragment(at: 95, duration: 100, [[11]]).bytes,
            TestFragment(at: 195, duration: 105, [[12]]).bytes,
        ]
        let film = try TestFilm([rendition(.picture), rendition(.sound, language: "de")], [picture, sound])
        #expect(film.tracks == [[1, 2], [1, 2], [1, 2]])
        #expect(film.samples(of: 1).map(\.bytes) == [[0], [9], [1], [9], [2], [9]])
        #expect(film.samples(of: 2).map(\.bytes) == [[10], [11], [12]])
        #expect(film.samples(of: 2).map(\.time) == [0, 95, 195])
        #expect(film.movie.tracks.map(\.handler) == ["vide", "soun"])
    }

    @Test func renumbersTracksAndSaysTheNextNumber() throws {
        let film = try TestFilm(
            [rendition(.picture), rendition(.sound), rendition(.sound)],
            [
                [TestFragment(at: 0, [[1]]).bytes], [TestFragment(at: 0, [[2]]).bytes],
                [TestFragment(at: 0, [[3]]).bytes],
            ]
        )
        #expect(film.movie.tracks.map(\.id) == [1, 2, 3])
        #expect(film.samples.map(\.bytes) == [[1], [2], [3]])
        let header = try film.movie.boxes.required("mvhd", in: "moov")
        #expect(Array(header.bytes.suffix(4)) == [0, 0, 0, 4])
        #expect(film.movie.brands.contains("dby1"))
    }

    @Test func enablesTheFirstOfSeveralSoundsAndMakesThemAlternatives() throws {
        let sound = [TestFragment(at: 0, [[2]]).bytes]
        let film = try TestFilm(
            [rendition(.picture), rendition(.sound), rendition(.sound)],
            [[TestFragment(at: 0, [[1]]).bytes], sound, sound]
        )
        let headers = try film.movie.tracks.map { Array(try $0.boxes.required("tkhd", in: "trak").content) }
        #expect(headers.map { $0[3] } == [3, 3, 2])
        #expect(headers.map { $0[35] } == [0, 1, 1])
    }

    @Test func writesTheLanguageOfThePlaylist() throws {
        let film = try TestFilm([rendition(.sound, language: "pt-BR")], [[TestFragment(at: 0, [[2]]).bytes]])
        let media = try Box.all(in: try film.movie.tracks[0].boxes.required("mdia", in: "trak").content)
        let header = try media.required("mdhd", in: "mdia")
        #expect(Array(header.content[(header.content.endIndex - 4)...]) == [0x41, 0xf2, 0, 0])
        #expect(try media.required("elng", in: "mdia").content.dropFirst(4) == Array("pt-BR".utf8)[...] + [0])
    }

    @Test func leavesOutTheSoundOfAVariantWhoseSoundIsSeparate() throws {
        let both = TestMovie(tracks: TestMovie.picture.tracks + [TestMovie.Track(id: 2, handler: "soun")])
        let mixed = TestFragment([
            TestFragment.Part(id: 1, time: 0, samples: [[1, 1]]), TestFragment.Part(id: 2, time: 0, samples: [[2]]),
        ])
        let film = try TestFilm(
            [rendition(both, leavesOutSound: true), rendition(.sound)],
            [[mixed.bytes], [TestFragment(at: 0, [[3]]).bytes]]
        )
        #expect(film.samples.map(\.bytes) == [[1, 1], [3]])
        #expect(film.movie.tracks.map(\.handler) == ["vide", "soun"])
    }

    @Test func countsTheOffsetsAnewForEachKindOfBase() throws {
        let both = TestMovie(tracks: TestMovie.picture.tracks + [TestMovie.Track(id: 2, handler: "soun")])
        let parts = [
            TestFragment.Part(id: 1, time: 0, samples: [[1, 1], [2]]),
            TestFragment.Part(id: 2, time: 0, samples: [[3, 3, 3]]),
        ]
        let filler = [UInt8].box("free", TestMovie.zeros(10))
        let bases: [TestFragment.Base] = [
            .moof, .implicit,
            // The offset in the resource, in the segment, and in a film that is not there.
            .explicit(moofAt: 5018), .explicit(moofAt: 18), .explicit(moofAt: 1_000_000),
        ]
        for base in bases {
            let segment = filler + TestFragment(parts, base: base).bytes
            let film = try TestFilm([rendition(both)], [[segment]], resourcePosition: 5000)
            #expect(film.samples.map(\.bytes) == [[1, 1], [2], [3, 3, 3]])
        }
    }

    @Test func takesFragmentsWithoutATimeAsGoingOn() throws {
        let segments = [TestFragment(at: 50, [[1]]).bytes, TestFragment(at: nil, [[2]]).bytes]
        #expect(try TestFilm([rendition(.picture)], [segments]).samples.map(\.time) == [0, 100])
    }

    @Test func refusesATimeThatGoesBack() throws {
        let segments = [TestFragment(at: 500, [[1]]).bytes, TestFragment(at: 0, [[2]]).bytes]
        #expect(throws: MediaError.timeGoesBack(track: 1)) { try TestFilm([rendition(.picture)], [segments]) }
    }

    @Test func refusesAChangedInitSectionAndTakesAnEqualOne() throws {
        let merge = try MovieMerge([rendition(.picture)], fragments: 1)
        try merge.check(FragmentedMovie(TestMovie.picture.initSection), of: 0)
        #expect(throws: MediaError.changedInitSection) {
            try merge.check(FragmentedMovie(TestMovie.sound.initSection), of: 0)
        }
        #expect(throws: MediaError.changedInitSection) {
            try TestFilm([rendition(.picture)], [[TestMovie.sound.initSection]])
        }
    }

    @Test func refusesARenditionWithoutSamples() throws {
        #expect(throws: MediaError.noFragments(rendition: 1)) {
            try TestFilm([rendition(.picture), rendition(.sound)], [[TestFragment(at: 0, [[1]]).bytes], []])
        }
    }

    @Test func refusesSamplesOutsideOfTheMediaData() throws {
        var segment = TestFragment(at: 0, [[1, 2, 3, 4]]).bytes
        let longer = try #require(segment.lastIndex(of: 4).map { $0 - 16 })
        segment[longer] = 5
        let broken = segment
        #expect(throws: MediaError.self) { try TestFilm([rendition(.picture)], [[broken]]) }
    }

    @Test func makesALongFilmWithABoundedIndex() throws {
        let segments = (0..<100).map { TestFragment(at: UInt32($0 * 100), [[UInt8($0)]]).bytes }
        var merge = try MovieMerge([rendition(.picture)], fragments: 1)
        var length: Int64 = 0
        for segment in segments {
            try merge.take(TestFilm.fragments(of: segment), of: 0)
            length += merge.output().reduce(0) { $0 + $1.length }
        }
        try merge.end(0)
        length += merge.output().reduce(0) { $0 + $1.length }
        let (pieces, patches) = try merge.finish()
        length += pieces.reduce(0) { $0 + $1.length }
        let room = try #require(patches.last)
        let boxes = try Box.all(in: room.bytes[...])
        let index = try boxes.required("sidx", in: "film")
        let entries = index.content.dropFirst(32)
        #expect(boxes.map(\.type) == ["free", "sidx"])
        #expect(entries.count / 12 <= 16)
        // The entries cover each byte after the index, and the whole time.
        let sizes = stride(from: 0, to: entries.count, by: 12).map { TestMovie.word(Array(entries), at: $0) }
        let times = stride(from: 4, to: entries.count, by: 12).map { TestMovie.word(Array(entries), at: $0) }
        #expect(Int64(sizes.reduce(0, +)) == length - room.position - Int64(room.bytes.count))
        #expect(times.reduce(0, +) == 10_000)
    }

    private func duration(_ film: TestFilm) -> UInt32? {
        let box = film.movie.boxes.first("mvex").flatMap { try? Box.all(in: $0.content).first("mehd") }
        return box.map { TestMovie.word(Array($0.content), at: 8) }
    }
}
