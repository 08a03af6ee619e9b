import Testing

@testable import HaulCore

struct FilmGapsTests {
    private func gaps(_ count: Int64) -> FilmGaps? {
        FilmGaps((0..<count).map { .init(track: 0, number: $0) })
    }

    @Test func aWholeFilmHasNone() {
        #expect(gaps(0) == nil)
    }

    @Test(
        arguments: [
            (1, [0]), (2, [0, 1]), (3, [0, 1, 2]), (4, [0, 1, 2, 3]), (10, [0, 3, 6, 9]),
            (1_000_000, [0, 333_333, 666_666, 999_999]),
        ] as [(Int64, [Int64])]
    )
    func keepsAFewFromAllOverTheFilm(_ count: Int64, _ kept: [Int64]) {
        #expect(gaps(count)?.count == Int(count))
        #expect(gaps(count)?.places.map(\.number) == kept)
    }
}
