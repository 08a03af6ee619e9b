import Foundation
import Testing

@testable import HaulCore

struct PieceHashesTests {
    private func hashes(_ count: Int, of length: Int64) throws -> PieceHashes {
        let digests = (0..<count).map { Array(repeating: UInt8(truncatingIfNeeded: $0), count: 20) }
        return try #require(PieceHashes(.sha1, pieceLength: length, digests: digests))
    }

    @Test func haveNoAlgorithmOfWholeFiles() {
        let digest = Array(repeating: UInt8(1), count: 20)
        #expect(PieceHashes(.gitBlob, pieceLength: 10, digests: [digest]) == nil)
        #expect(PieceHashes(.sha1, pieceLength: 10, digests: [digest]) != nil)
    }

    @Test(arguments: [
        (1, 10, 1), (1, 10, 10), (2, 10, 11), (3, 10, 30), (3, 1 << 61, Int64.max), (1, 1 << 62, 1 << 62),
    ])
    func coversAFileExactly(_ count: Int, _ length: Int64, _ total: Int64) throws {
        let hashes = try hashes(count, of: length)
        #expect(hashes.covers(total) == (total != .max))
        guard hashes.covers(total) else { return }
        var end: Int64 = 0
        for index in hashes.digests.indices {
            let range = hashes.range(of: index, total: total)
            #expect(range.lowerBound == end && !range.isEmpty && Int64(range.count) <= length)
            end = range.upperBound
        }
        #expect(end == total)
    }

    @Test(arguments: [(1, 10, 0), (1, 10, -1), (1, 10, .min), (1, 10, 11), (2, 10, 10), (3, 10, 31), (1, 1, .max)])
    func doesNotCoverAFileOfAnotherSize(_ count: Int, _ length: Int64, _ total: Int64) throws {
        #expect(!(try hashes(count, of: length).covers(total)))
    }

    @Test func givesAnEmptyRangeForAPieceThatIsNotThere() throws {
        let hashes = try hashes(4, of: 1 << 62)
        #expect(hashes.range(of: 0, total: 5) == 0..<5)
        for index in [1, 3, 4, -1, .max, .min] { #expect(hashes.range(of: index, total: 5).isEmpty) }
        #expect(hashes.range(of: 1, total: .max) == (1 << 62)..<Int64.max)
        #expect(hashes.range(of: 2, total: .max).isEmpty)
        for total in [0, -1, Int64.min] { #expect(hashes.range(of: 0, total: total) == 0..<0) }
    }

    @Test func refusesWhatCannotBe() {
        let digest = [UInt8](repeating: 1, count: 20)
        for length in [0, -1, .min, .max, (1 << 62) + 1] as [Int64] {
            #expect(PieceHashes(.sha1, pieceLength: length, digests: [digest]) == nil)
        }
        #expect(PieceHashes(.sha1, pieceLength: 1, digests: []) == nil)
        #expect(PieceHashes(.sha1, pieceLength: 1, digests: [digest, []]) == nil)
        #expect(PieceHashes(.sha256, pieceLength: 1, digests: [digest]) == nil)
    }

    @Test func isTheSameAfterBeingStored() throws {
        let hashes = try hashes(300, of: 1 << 20)
        #expect(try JSONDecoder().decode(PieceHashes.self, from: JSONEncoder().encode(hashes)) == hashes)
    }

    @Test(arguments: [
        ("sha1", 1, 19), ("sha1", 1, 21), ("sha1", 1, 0), ("sha1", 0, 20), ("sha1", -1, 20), ("sha256", 1, 20),
        ("crc", 1, 20),
    ])
    func refusesADamagedRecord(_ algorithm: String, _ length: Int64, _ bytes: Int) {
        let digests = Data(repeating: 7, count: bytes).base64EncodedString()
        let text = "{\"algorithm\":\"\(algorithm)\",\"pieceLength\":\(length),\"digests\":\"\(digests)\"}"
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(PieceHashes.self, from: Data(text.utf8)) }
    }
}
