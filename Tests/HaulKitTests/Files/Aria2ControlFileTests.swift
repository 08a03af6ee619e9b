import Testing

@testable import HaulCore
@testable import HaulKit

/// The control files of aria2.
@Suite("Control files of aria2")
struct Aria2ControlFileTests {
    /// Left by a killed aria2 1.36: 40,000,000 bytes in pieces of 1 MiB, four of them unfinished.
    private static let written: [UInt8] = {
        let text = """
            000100000000000000000010000000000000 02625a00 0000000000000000 00000005 e0380e0380 00000004
            00000003 00100000 00000008 fffe000000000000 0000000d 00100000 00000008 fffc000000000000
            00000017 00100000 00000008 fffc000000000000 00000021 00100000 00000008 fffc000000000000
            """
        let digits = text.filter(\.isHexDigit).map { UInt8($0.hexDigitValue ?? 0) }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }()

    @Test("reads what aria2 itself has written")
    func readsWhatAria2Writes() throws {
        let file = try Aria2ControlFile(Self.written)
        #expect(file.total == 40_000_000)
        let piece: Int64 = 1 << 20
        let block: Int64 = 16 << 10
        #expect(
            file.claimed.text
                == [
                    0..<3 * piece + 15 * block, 10 * piece..<13 * piece + 14 * block,
                    20 * piece..<23 * piece + 14 * block, 30 * piece..<33 * piece + 14 * block,
                ].map { "\($0.lowerBound)-\($0.upperBound)" }.joined(separator: ",")
        )
    }

    @Test("ends the last piece and the last block where the file ends")
    func endsWithTheFile() throws {
        let whole = ControlFileBytes(pieceLength: 100_000, total: 250_001, pieces: [0, 2])
        #expect(try Aria2ControlFile(whole.bytes).claimed.text == "0-100000,200000-250001")
        let last = ControlFileBytes(pieceLength: 100_000, total: 250_001, underWay: [(2, [0, 3])])
        #expect(try Aria2ControlFile(last.bytes).claimed.text == "200000-216384,249152-250001")
    }

    @Test("reads the numbers of version 0 in the order of this machine")
    func version0() throws {
        let old = ControlFileBytes(version: 0, pieceLength: 100, total: 250, pieces: [1], isBigEndian: false)
        #expect(try Aria2ControlFile(old.bytes).claimed.text == "100-200")
    }

    @Test("takes a file of which nothing is here, and an empty one")
    func nothing() throws {
        #expect(try Aria2ControlFile(ControlFileBytes(total: 5_000_000).bytes).claimed.isEmpty)
        #expect(try Aria2ControlFile(ControlFileBytes(pieceLength: 0, total: 0).bytes).claimed.isEmpty)
    }

    @Test("refuses every beginning of a file, and one that goes on")
    func cutShort() throws {
        for count in Self.written.indices {
            #expect(throws: Aria2ControlFile.Failure.cutShort) { try Aria2ControlFile(Array(Self.written[..<count])) }
        }
        #expect(throws: Aria2ControlFile.Failure.inconsistent("end")) { try Aria2ControlFile(Self.written + [0]) }
    }

    @Test("refuses other versions and files of BitTorrent")
    func others() {
        #expect(throws: Aria2ControlFile.Failure.unknownVersion(2)) {
            try Aria2ControlFile(ControlFileBytes(version: 2, total: 5).bytes)
        }
        let torrent = ControlFileBytes(extensions: 1, hash: [UInt8](repeating: 7, count: 20), total: 5)
        #expect(throws: Aria2ControlFile.Failure.torrent) { try Aria2ControlFile(torrent.bytes) }
        #expect(throws: Aria2ControlFile.Failure.torrent) {
            try Aria2ControlFile(ControlFileBytes(extensions: 1, total: 5).bytes)
        }
    }

    @Test("refuses numbers that do not fit together, however large")
    func inconsistent() {
        var files = [ControlFileBytes(pieceLength: 0, total: 5).bytes]
        // Length of the info hash, length of a piece, total length, length of the bit field, number of unfinished
        // pieces, index, length of a piece, length of its bits.
        for place in [6, 10, 14, 30, 39, 43, 47, 51] {
            var file = Self.written
            for index in place..<place + 4 { file[index] = 0xFF }
            files.append(file)
        }
        for file in files {
            #expect(throws: Aria2ControlFile.Failure.self) { try Aria2ControlFile(file) }
        }
    }
}
