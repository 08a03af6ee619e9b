import Testing

/// What the judgement of films does not let pass.
@Suite(.enabled(if: FilmProgram.isInstalled, FilmProgram.isNeeded), .timeLimit(.minutes(60)))
struct FilmOracleTests {
    private func differences(_ change: (inout DecodedFilm) -> Void) async throws -> Int {
        let source = try await FilmSource.languages.value.decoded
        var film = source
        change(&film)
        return film.differences(from: source).count
    }

    @Test func takesTheFilmItself() async throws {
        let differences = try await differences { _ in }
        #expect(differences == 0)
    }

    /// The films of the tests have no two equal pictures, so that each place in them can be told.
    @Test func tellsEachPictureFromTheOthers() async throws {
        for source in [FilmSource.plain, FilmSource.other] {
            let pictures = try await source.value.decoded.pictures
            #expect(Set(pictures.map(\.digest)).count == pictures.count && pictures.count % 25 == 0)
        }
    }

    @Test func noticesAFrameThatIsLostDoubledOrElsewhere() async throws {
        let lost = try await differences { $0.pictures.remove(at: 60) }
        let doubled = try await differences { $0.pictures.insert($0.pictures[60], at: 60) }
        let moved = try await differences { $0.pictures.swapAt(60, 61) }
        let silent = try await differences { $0.sounds[1].removeLast() }
        #expect(lost > 0 && doubled > 0 && moved > 0 && silent > 0)
    }

    @Test func noticesSoundOfAnotherLanguageAndSoundThatIsLate() async throws {
        let swapped = try await differences { $0.sounds.swapAt(0, 1) }
        let missing = try await differences { $0.sounds.removeLast() }
        let late = try await differences { film in
            film.sounds[0] = film.sounds[0].map { .init(time: $0.time + 0.02, digest: $0.digest) }
        }
        #expect(swapped > 0 && missing > 0 && late > 0)
    }

    @Test func noticesAnotherDuration() async throws {
        let longer = try await differences { $0.span = $0.span.lowerBound...($0.span.upperBound + 0.05) }
        let later = try await differences { film in
            film.pictures[124].time += 0.01
        }
        #expect(longer > 0 && later > 0)
    }
}
