import NIOCore
import Testing

@testable import HaulCore
@testable import HaulKit

/// Pieces of 100 bytes in a file of 250.
struct PieceDigestsTests {
    private let bytes = someBytes(250, seed: 3)

    private func hashes() throws -> PieceHashes {
        let digests = stride(from: 0, to: 250, by: 100).map { start in
            var hasher = DigestHasher(.sha1, size: Int64(min(100, 250 - start)))
            bytes[start..<min(start + 100, 250)].withUnsafeBytes { hasher.update($0) }
            return hasher.finish()
        }
        return try #require(PieceHashes(.sha1, pieceLength: 100, digests: digests))
    }

    private func buffer(_ range: Range<Int>) -> ByteBuffer { ByteBuffer(bytes: bytes[range]) }

    /// A file of wrong bytes only, so that a right digest proves that the piece was hashed while it was written.
    private let wrong = MemoryFile([UInt8](repeating: 0, count: 250))

    @Test(arguments: [1, 7, 99, 100, 101, 250])
    func hashesWhatIsWrittenInOrder(_ step: Int) throws {
        let digests = PieceDigests(try hashes(), total: 250)
        for start in stride(from: 0, to: 250, by: step) {
            digests.update([buffer(start..<min(start + step, 250))], at: Int64(start))
        }
        for index in 0..<3 { #expect(try digests.isRight(index, in: wrong)) }
        // The second call has no digest left and reads the wrong file.
        #expect(try !digests.isRight(0, in: wrong))
    }

    @Test func readsBackWhatWasWrittenOutOfOrder() throws {
        let digests = PieceDigests(try hashes(), total: 250)
        digests.update([buffer(50..<100)], at: 50)
        digests.update([buffer(0..<50)], at: 0)
        #expect(try digests.isRight(0, in: MemoryFile(bytes)))
        #expect(try !digests.isRight(0, in: wrong))
    }

    @Test func hashesAPieceAnewThatBeginsAgain() throws {
        let digests = PieceDigests(try hashes(), total: 250)
        digests.update([ByteBuffer(repeating: 9, count: 60)], at: 0)
        digests.update([buffer(0..<100)], at: 0)
        #expect(try digests.isRight(0, in: wrong))
    }

    @Test func takesSeveralBuffersAndPiecesAtOnce() throws {
        let digests = PieceDigests(try hashes(), total: 250)
        digests.update([buffer(0..<30), ByteBuffer(), buffer(30..<130), buffer(130..<250)], at: 0)
        for index in 0..<3 { #expect(try digests.isRight(index, in: wrong)) }
    }

    @Test func passesOverBytesBeyondTheEnd() throws {
        let digests = PieceDigests(try hashes(), total: 250)
        digests.update([buffer(200..<250), ByteBuffer(repeating: 1, count: 500)], at: 200)
        #expect(try digests.isRight(2, in: wrong))
    }

    @Test func findsTheRightPiecesOfAFile() throws {
        var damaged = bytes
        damaged[150] ^= 1
        let digests = PieceDigests(try hashes(), total: 250)
        var told: [Int64] = []
        let flag = CancelFlag()
        let right = try digests.right(in: MemoryFile(damaged), until: flag) { done, _ in told.append(done) }
        #expect(right == ByteSet([0..<100, 200..<250]))
        #expect(told == [100, 200, 250])
        #expect(
            try digests.right(in: MemoryFile(Array(bytes.prefix(240))), until: flag) { _, _ in } == ByteSet(0..<200)
        )
        #expect(try digests.right(in: MemoryFile([]), until: flag) { _, _ in }?.isEmpty == true)
        flag.set()
        #expect(try digests.right(in: MemoryFile(bytes), until: flag) { _, _ in } == nil)
    }
}
