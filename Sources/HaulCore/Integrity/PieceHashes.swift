internal import Foundation

/// The digests of a file's pieces, in order (RFC 5854 §4.1.3). All pieces have the same length except the last, which
/// may be shorter.
package struct PieceHashes: Sendable, Hashable {
    /// The algorithm of all digests.
    package let algorithm: DownloadRequest.Checksum.Algorithm
    /// Length of a piece in bytes, from 1 to 2^62.
    package let pieceLength: Int64
    /// One digest for each piece, each of the algorithm's length.
    package let digests: [[UInt8]]

    /// Makes the digests of a file.
    ///
    /// - Returns: `nil` when the length is out of range, there is no digest, a digest does not have the algorithm's
    ///   length, or the algorithm needs the size of the file.
    package init?(_ algorithm: DownloadRequest.Checksum.Algorithm, pieceLength: Int64, digests: [[UInt8]]) {
        guard !algorithm.needsSize, (1...Self.longestPiece).contains(pieceLength), !digests.isEmpty,
            digests.allSatisfy({ $0.count == algorithm.digestLength })
        else { return nil }
        self.algorithm = algorithm
        self.pieceLength = pieceLength
        self.digests = digests
    }

    static let longestPiece: Int64 = 1 << 62

    /// Whether there are exactly as many pieces as a file of `total` bytes has.
    package func covers(_ total: Int64) -> Bool {
        guard total > 0 else { return false }
        return Int64(digests.count) == (total - 1) / pieceLength + 1
    }

    /// The byte range of the piece at `index` in a file of `total` bytes; empty for a piece that the file does not
    /// have.
    package func range(of index: Int, total: Int64) -> Range<Int64> {
        let total = max(total, 0)
        guard digests.indices.contains(index) else { return total..<total }
        let (start, startOverflows) = Int64(index).multipliedReportingOverflow(by: pieceLength)
        guard !startOverflows, start < total else { return total..<total }
        return start..<(start + min(pieceLength, total - start))
    }
}

/// Encodes the digests as one block of data, because there may be hundreds of thousands. Refuses data that is not a
/// whole number of digests, so that a damaged store supplies no false check.
extension PieceHashes: CodedByKeys {
    package enum Keys: String, CodingKey { case algorithm, pieceLength, digests }

    /// - Throws: `DecodingError`, also when the data is not a whole number of digests.
    package init(values: KeyedDecodingContainer<Keys>) throws {
        let algorithm = try values.decode(DownloadRequest.Checksum.Algorithm.self, forKey: .algorithm)
        let bytes = [UInt8](try values.decode(Data.self, forKey: .digests))
        let digests = stride(from: 0, to: bytes.count, by: algorithm.digestLength).map { start in
            Array(bytes[start...].prefix(algorithm.digestLength))
        }
        let length = try values.decode(Int64.self, forKey: .pieceLength)
        guard let hashes = PieceHashes(algorithm, pieceLength: length, digests: digests) else {
            throw DecodingError.dataCorruptedError(
                forKey: .digests,
                in: values,
                debugDescription: "not the digests of pieces"
            )
        }
        self = hashes
    }

    package func write(to values: inout KeyedEncodingContainer<Keys>, keepsSecrets: Bool) throws {
        try values.encode(algorithm, forKey: .algorithm)
        try values.encode(pieceLength, forKey: .pieceLength)
        try values.encode(Data(digests.joined()), forKey: .digests)
    }
}
