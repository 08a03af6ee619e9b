@testable import HaulCore
@testable import HaulKit

/// The bytes of an aria2 control file.
struct ControlFileBytes {
    var version: UInt16 = 1
    var extensions: UInt32 = 0
    var hash: [UInt8] = []
    var pieceLength: UInt32 = 1 << 20
    var total: UInt64
    /// The complete pieces.
    var pieces: Set<Int> = []
    /// The unfinished pieces, each with its received blocks of 16 KiB.
    var underWay: [(index: Int, blocks: Set<Int>)] = []
    var isBigEndian = true

    private var pieceCount: Int { pieceLength == 0 ? 0 : Int((total + UInt64(pieceLength) - 1) / UInt64(pieceLength)) }

    private func bytes<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
        withUnsafeBytes(of: isBigEndian ? number.bigEndian : number.littleEndian) { Array($0) }
    }

    private func bits(_ set: Set<Int>, of count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: (count + 7) / 8)
        for index in set { bytes[index / 8] |= 0x80 >> (index % 8) }
        return bytes
    }

    var bytes: [UInt8] {
        var all: [UInt8] = [UInt8(version >> 8), UInt8(version & 0xFF)]
        all +=
            bytes(extensions) + bytes(UInt32(hash.count)) + hash + bytes(pieceLength) + bytes(total) + bytes(UInt64(0))
        let list = bits(pieces, of: pieceCount)
        all += bytes(UInt32(list.count)) + list + bytes(UInt32(underWay.count))
        for piece in underWay {
            let length = min(UInt64(pieceLength), total - UInt64(piece.index) * UInt64(pieceLength))
            let blocks = bits(piece.blocks, of: Int((length + 16383) / 16384))
            all += bytes(UInt32(piece.index)) + bytes(UInt32(length)) + bytes(UInt32(blocks.count)) + blocks
        }
        return all
    }
}
