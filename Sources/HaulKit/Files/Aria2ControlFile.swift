/// Content of aria2's control file (`NAME.aria2`) for the unfinished file beside it. The format is that of aria2's
/// technical notes.
struct Aria2ControlFile: Sendable, Equatable {
    /// Length of the complete file in bytes.
    let total: Int64
    /// Bytes that aria2 has written: whole pieces, and the complete blocks of unfinished pieces.
    let claimed: ByteSet

    /// Reason why a file cannot be read as a control file.
    enum Failure: Error, Equatable {
        case cutShort
        case unknownVersion(UInt64)
        case torrent
        case inconsistent(String)

        var sentence: String {
            switch self {
            case .cutShort: "It ends early."
            case .unknownVersion(let number): "Its version, \(number), is not known."
            case .torrent: "It belongs to a BitTorrent download."
            case .inconsistent(let what): "Its \(what) does not fit the rest."
            }
        }
    }

    /// Size limit of a control file in bytes, enough for 8 million pieces.
    static let mostBytes: Int64 = 1 << 20
    /// Length of a block in bytes. For each unfinished piece, the control file has one bit for each block.
    private static let blockLength: Int64 = 16 << 10
    /// Length limit of a file in bytes, so that sums of positions do not overflow.
    private static let longest: Int64 = 1 << 60

    init(_ bytes: [UInt8]) throws(Failure) {
        var reader = Reader(rest: bytes[...])
        let version = try reader.number(2)
        guard version <= 1 else { throw .unknownVersion(version) }
        // A file of version 0 has the byte order of the machine that wrote it, which is assumed to be that of this
        // machine.
        reader.isBigEndian = version == 1 || Int(bigEndian: 1) == 1
        let extensions = try reader.take(4)
        let hashLength = try reader.length()
        _ = try reader.take(hashLength)
        guard hashLength == 0, extensions.allSatisfy({ $0 == 0 }) else { throw .torrent }
        let pieceLength = Int64(try reader.length())
        let total = try reader.number(8)
        // Skips the number of uploaded bytes.
        _ = try reader.number(8)
        guard total <= UInt64(Self.longest), pieceLength > 0 || total == 0 else { throw .inconsistent("length") }
        self.total = Int64(total)
        let layout = Layout(total: self.total, pieceLength: max(pieceLength, 1))
        let pieces = try reader.take(try reader.length())
        guard Int64(pieces.count) == Layout.bytes(for: layout.pieceCount) else { throw .inconsistent("list of pieces") }
        var claimed = ByteSet()
        for run in Self.runs(in: pieces, count: layout.pieceCount) {
            claimed.insert(contentsOf: run.lowerBound * layout.pieceLength..<layout.end(of: run.upperBound - 1))
        }
        for _ in 0..<(try reader.length()) { claimed.formUnion(try Self.pieceUnderWay(&reader, layout)) }
        guard reader.rest.isEmpty else { throw .inconsistent("end") }
        self.claimed = claimed
    }

    private static func pieceUnderWay(_ reader: inout Reader, _ layout: Layout) throws(Failure) -> ByteSet {
        let index = Int64(try reader.length())
        let length = Int64(try reader.length())
        let blocks = try reader.take(try reader.length())
        guard index < layout.pieceCount, length == layout.end(of: index) - index * layout.pieceLength else {
            throw .inconsistent("piece \(index)")
        }
        let inside = Layout(total: length, pieceLength: blockLength)
        guard Int64(blocks.count) == Layout.bytes(for: inside.pieceCount) else { throw .inconsistent("piece \(index)") }
        var claimed = ByteSet()
        let start = index * layout.pieceLength
        for run in runs(in: blocks, count: inside.pieceCount) {
            claimed.insert(
                contentsOf: start + run.lowerBound * blockLength..<start + inside.end(of: run.upperBound - 1)
            )
        }
        return claimed
    }

    /// Returns the runs of set bits among the first `count` bits. The highest bit of a byte comes first.
    private static func runs(in bits: ArraySlice<UInt8>, count: Int64) -> [Range<Int64>] {
        var runs: [Range<Int64>] = []
        var start: Int64?
        for index in 0..<count {
            let byte = bits[bits.startIndex + Int(index / 8)]
            if byte & (0x80 >> UInt8(index % 8)) != 0 {
                start = start ?? index
            } else if let first = start {
                runs.append(first..<index)
                start = nil
            }
        }
        if let start { runs.append(start..<count) }
        return runs
    }

    /// Division of a length into pieces. The last piece may be shorter.
    private struct Layout {
        let total: Int64
        let pieceLength: Int64

        var pieceCount: Int64 { total == 0 ? 0 : (total - 1) / pieceLength + 1 }

        func end(of piece: Int64) -> Int64 { min((piece + 1) * pieceLength, total) }

        /// Returns the size in bytes of a bit field for `count` pieces.
        static func bytes(for count: Int64) -> Int64 { count / 8 + (count % 8 == 0 ? 0 : 1) }
    }

    private struct Reader {
        var rest: ArraySlice<UInt8>
        var isBigEndian = true

        mutating func take(_ count: Int) throws(Failure) -> ArraySlice<UInt8> {
            guard count <= rest.count else { throw .cutShort }
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count)
        }

        /// Reads a number of `size` bytes, at most eight.
        mutating func number(_ size: Int) throws(Failure) -> UInt64 {
            let bytes = try take(size)
            let number: (UInt64, UInt8) -> UInt64 = { $0 << 8 | UInt64($1) }
            return isBigEndian ? bytes.reduce(0, number) : bytes.reversed().reduce(0, number)
        }

        /// Reads a number of four bytes, which fits into `Int`.
        mutating func length() throws(Failure) -> Int { Int(clamping: try number(4)) }
    }
}
