public struct PieceHashes: Sendable, Hashable, Codable {
    public let algorithm: Checksum.Algorithm
    public let pieceLength: Int64
    public let digests: [[UInt8]]

    func range(of index: Int, total: Int64) -> Range<Int64> {
        let lower = min(Int64(index) * pieceLength, total)
        return lower..<min(lower + pieceLength, total)
    }
}
