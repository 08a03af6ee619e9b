import Testing

@testable import HaulCore

/// Pieces of 10 bytes in a file of 35, brought by sources 0 and 1.
struct PieceVerifierTests {
    private func ledger() throws -> PieceVerifier {
        let digests = (0..<4).map { [UInt8](repeating: UInt8($0), count: 16) }
        return PieceVerifier(try #require(PieceHashes(.md5, pieceLength: 10, digests: digests)), total: 35)
    }

    @Test func namesPiecesAsTheyBecomeCompleteAndOnce() throws {
        var ledger = try ledger()
        #expect(ledger.complete(ByteSet(0..<9)) == [])
        #expect(ledger.complete(ByteSet(0..<10)) == [0])
        #expect(ledger.complete(ByteSet(0..<10)) == [])
        #expect(ledger.complete(ByteSet([0..<10, 12..<35])) == [2, 3])
        #expect(ledger.complete(ByteSet(0..<35)) == [1])
        #expect(ledger.isChecking && !ledger.isDone)
        for index in 0..<4 { #expect(ledger.checked(index, isRight: true) != nil) }
        #expect(ledger.isDone && !ledger.isChecking)
        #expect(ledger.checked(0, isRight: true) == nil)
    }

    @Test func passesOverBytesBeyondTheEnd() throws {
        var ledger = try ledger()
        #expect(ledger.complete(ByteSet(0..<1000)) == [0, 1, 2, 3])
    }

    @Test func provesWhoBroughtAPieceAlone() throws {
        var ledger = try ledger()
        ledger.note(0..<10, from: 0)
        ledger.note(10..<15, from: 0)
        ledger.note(15..<20, from: 1)
        #expect(ledger.complete(ByteSet(0..<20)) == [0, 1])
        #expect(ledger.checked(0, isRight: true)?.proven == 0)
        #expect(ledger.checked(1, isRight: true) == PieceVerifier.Decision())
    }

    @Test func convictsOnlyWhoBroughtAllOfAWrongPiece() throws {
        var ledger = try ledger()
        ledger.note(0..<10, from: 1)
        ledger.note(10..<15, from: 0)
        ledger.note(15..<20, from: 1)
        ledger.note(22..<30, from: 1)
        #expect(ledger.complete(ByteSet(0..<30)) == [0, 1, 2])
        #expect(ledger.checked(0, isRight: false) == .init(forgotten: [0..<10], culprit: 1, times: 1))
        #expect(ledger.checked(1, isRight: false)?.culprit == nil)
        // Two bytes of the piece are from an earlier run, and their source is unknown.
        #expect(ledger.checked(2, isRight: false)?.culprit == nil)
    }

    @Test func namesAPieceAgainThatWasWrong() throws {
        var ledger = try ledger()
        for times in 1...3 {
            ledger.note(0..<10, from: 0)
            #expect(ledger.complete(ByteSet(0..<10)) == [0])
            #expect(ledger.checked(0, isRight: false)?.times == times)
            #expect(ledger.complete(ByteSet()) == [])
        }
    }

    @Test func disownsWhatAConvictBroughtAndNobodyFoundRight() throws {
        var ledger = try ledger()
        ledger.note(0..<10, from: 1)
        ledger.note(10..<14, from: 1)
        ledger.note(25..<30, from: 1)
        ledger.note(14..<20, from: 0)
        #expect(ledger.complete(ByteSet(0..<10)) == [0])
        #expect(ledger.checked(0, isRight: true)?.proven == 1)
        #expect(ledger.discardBytes(1) == [10..<14, 25..<30])
        #expect(ledger.discardBytes(1) == [])
        #expect(ledger.discardBytes(7) == [])
        // The bytes of source 1 are missing, so the piece is complete only with bytes of another source.
        #expect(ledger.complete(ByteSet([0..<10, 14..<20])) == [])
        #expect(ledger.complete(ByteSet(0..<20)) == [1])
    }

    /// Two wrong pieces of one source are checked at once. The second verdict still names the source after the first
    /// one has dropped its bytes, and counts as no attempt of the others.
    @Test func remembersWhoBroughtAPieceThatIsCheckedWhileItsSourceIsConvicted() throws {
        var ledger = try ledger()
        ledger.note(0..<20, from: 1)
        #expect(ledger.complete(ByteSet(0..<20)) == [0, 1])
        #expect(ledger.checked(0, isRight: false)?.culprit == 1)
        #expect(ledger.discardBytes(1) == [])
        #expect(ledger.checked(1, isRight: false)?.culprit == 1)
    }
}
