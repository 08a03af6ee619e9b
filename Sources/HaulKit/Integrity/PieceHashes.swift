internal import Foundation

/// The digests of a file's pieces, in order: RFC 5854, 4.1.3. All pieces are equally long but the last, which may be
/// shorter.
public struct PieceHashes: Sendable, Hashable {
    public let algorithm: Checksum.Algorithm
    /// In bytes, from 1 to 2^62.
    public let pieceLength: Int64
    /// One digest a piece, each ``Checksum/Algorithm/digestLength`` bytes long.
    public let digests: [[UInt8]]

    /// - Returns: nil when the length is out of range, there is no digest, or one has not the algorithm's length.
    public init?(_ algorithm: Checksum.Algorithm, pieceLength: Int64, digests: [[UInt8]]) {
        guard (1...Self.longestPiece).contains(pieceLength), !digests.isEmpty,
            digests.allSatisfy({ $0.count == algorithm.digestLength })
        else { return nil }
        self.algorithm = algorithm
        self.pieceLength = pieceLength
        self.digests = digests
    }

    static let longestPiece: Int64 = 1 << 62

    /// Whether there are exactly as many pieces as a file of `total` bytes has.
    public func covers(_ total: Int64) -> Bool {
        guard total > 0 else { return false }
        return Int64(digests.count) == (total - 1) / pieceLength + 1
    }

    /// Where the bytes of the piece at `index` lie in a file of `total` bytes; empty for a piece the file does not
    /// have.
    public func range(of index: Int, total: Int64) -> Range<Int64> {
        let total = max(total, 0)
        guard digests.indices.contains(index) else { return total..<total }
        let (start, startOverflows) = Int64(index).multipliedReportingOverflow(by: pieceLength)
        guard !startOverflows, start < total else { return total..<total }
        return start..<(start + min(pieceLength, total - start))
    }
}

/// The digests are stored end to end, since there may be hundreds of thousands. What does not make whole pieces is
/// refused: a damaged store must not become a check.
extension PieceHashes: Codable {
    private enum CodingKeys: String, CodingKey { case algorithm, pieceLength, digests }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let algorithm = try container.decode(Checksum.Algorithm.self, forKey: .algorithm)
        let bytes = [UInt8](try container.decode(Data.self, forKey: .digests))
        let digests = stride(from: 0, to: bytes.count, by: algorithm.digestLength).map { start in
            Array(bytes[start...].prefix(algorithm.digestLength))
        }
        let length = try container.decode(Int64.self, forKey: .pieceLength)
        guard let hashes = PieceHashes(algorithm, pieceLength: length, digests: digests) else {
            throw DecodingError.dataCorruptedError(
                forKey: .digests,
                in: container,
                debugDescription: "not the digests of pieces"
            )
        }
        self = hashes
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(algorithm, forKey: .algorithm)
        try container.encode(pieceLength, forKey: .pieceLength)
        try container.encode(Data(digests.joined()), forKey: .digests)
    }
}
