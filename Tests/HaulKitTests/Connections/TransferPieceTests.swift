import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Consequences of a piece with the wrong digest.
struct TransferPieceTests {
    private static let content = TestContent(seed: 1, count: 1000)
    private var transfer = Transfer()
    private var sources: SourceSelector

    init() throws {
        let home = link("https://home.example/f")
        sources = SourceSelector(
            home,
            mirrors: (1...3).map { Metalink.Source(link("https://mirror\($0).example/f"), priority: $0) }
        )
        var terms = Transfer.Terms(resource: Resource(total: Self.content.count))
        terms.pieces = Self.content.pieces(100)
        transfer.begin(
            (id: .init(number: 1), lower: 0, upper: nil, compare: 0),
            terms,
            PersistedRanges(written: ByteSet(), synced: ByteSet()),
            sources,
            host: KnownHost(),
            at: .start
        )
    }

    /// Lets each source in `brought` bring an equal part of the first piece, whose digest is then wrong.
    private mutating func bringWrong(from brought: [Int]) -> Transfer.Outcome {
        for (index, source) in brought.enumerated() {
            let part = Int64(100 / brought.count)
            transfer.pieces?.note(part * Int64(index)..<part * Int64(index + 1), from: source)
        }
        #expect(transfer.pieces?.complete(ByteSet(0..<100)) == [0])
        return transfer.checked(0, isRight: false, &sources, at: .start).1
    }

    @Test mutating func failsOnlyWhenTheLastSourceHasBroughtAWrongPieceThreeTimes() {
        for mirror in 1...3 {
            #expect(bringWrong(from: [mirror]) == .goesOn)
            #expect(sources.sources[mirror].isDropped)
        }
        #expect(bringWrong(from: [0]) == .goesOn)
        #expect(bringWrong(from: [0]) == .goesOn)
        #expect(bringWrong(from: [0]) == .wrongPiece(0))
        #expect(!sources.sources[0].isDropped)
    }

    @Test mutating func convictsNobodyOfAPieceThatSeveralBrought() {
        #expect(bringWrong(from: [1, 2]) == .goesOn)
        #expect(bringWrong(from: [0, 2]) == .goesOn)
        #expect(!sources.sources.contains { $0.isDropped })
        #expect(bringWrong(from: [1]) == .goesOn)
        #expect(sources.sources.map(\.isDropped) == [false, true, false, false])
    }

    @Test mutating func asksAnotherHomeWhenItIsTheHomeThatSendsWrongPieces() {
        #expect(bringWrong(from: [0]) == .primaryRejected)
        #expect(transfer.active.isEmpty)
    }
}
