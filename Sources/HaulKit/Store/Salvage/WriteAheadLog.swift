/// Write-ahead log of a database, read without SQLite. SQLite ends the log at the first invalid frame, so that one
/// damaged byte would cost every later commit.
///
/// The format: https://sqlite.org/fileformat2.html#the_write_ahead_log.
struct WriteAheadLog {
    /// Offset in the file of the newest committed bytes of each page.
    private(set) var newest: [UInt32: Int64] = [:]
    /// Whether a commit follows an invalid header or frame. SQLite would drop such a commit.
    private(set) var isDamaged = false

    private static let headerSize = 32
    private static let frameHeaderSize = 24
    private static let magic: UInt32 = 0x377F_0682

    /// Limit of frames that are read to find the salts if the header is damaged. The first frames may be damaged too.
    private static let mostFramesForSalts: Int64 = 64

    /// Returns the salts that two consecutive frames share, else the salts of the first frame.
    private static func salts(of file: PosixFile, _ count: Int64) throws(DiskError) -> [UInt8] {
        let frameSize = Int64(frameHeaderSize + DatabasePages.pageSize)
        var first: [UInt8]?
        var before: [UInt8] = []
        for number in 0..<min(count, mostFramesForSalts) {
            let salts = try file.read(at: Int64(headerSize) + number * frameSize + 8, count: 8)
            if salts == before { return salts }
            (first, before) = (first ?? salts, salts)
        }
        return first ?? []
    }

    init(_ file: PosixFile) throws(DiskError) {
        let size = try file.size()
        let header = try file.read(at: 0, count: Self.headerSize)
        guard header.count == Self.headerSize else { return }
        let magic = header.integer(at: 0)
        // Assumes the byte order of this machine if the magic number is damaged.
        let isBigEndian = magic & ~1 == Self.magic ? magic & 1 == 1 : 1.bigEndian == 1
        var sum = LogSum(isBigEndian: isBigEndian)
        header[..<24].withUnsafeBytes { sum.add($0) }
        let isHeaderIntact = magic & ~1 == Self.magic && sum == LogSum(header, at: 24, isBigEndian: sum.isBigEndian)
        let frameSize = Int64(Self.frameHeaderSize + DatabasePages.pageSize)
        let count = (size - Int64(Self.headerSize)) / frameSize
        guard count > 0 else { return }
        // Frames from earlier uses of the log have other salts.
        let salts = isHeaderIntact ? Array(header[16..<24]) : try Self.salts(of: file, count)
        // Each frame continues the checksum of the frame before it; the first frame continues the checksum of the
        // header.
        var before = LogSum(header, at: 24, isBigEndian: isBigEndian)
        var pending: [UInt32: Int64] = [:]
        var isBroken = !isHeaderIntact
        for number in 0..<count {
            let offset = Int64(Self.headerSize) + number * frameSize
            let frame = try file.read(at: offset, count: Int(frameSize))
            guard frame.count == Int(frameSize) else { return }
            let stored = LogSum(frame, at: 16, isBigEndian: sum.isBigEndian)
            defer { before = stored }
            let page = frame.integer(at: 0)
            var sum = before
            guard frame[8..<16].elementsEqual(salts), page > 0 else {
                isBroken = true
                continue
            }
            frame.withUnsafeBytes {
                sum.add(.init(rebasing: $0[..<8]))
                sum.add(.init(rebasing: $0[Self.frameHeaderSize...]))
            }
            guard sum == stored else {
                isBroken = true
                continue
            }
            pending[page] = offset + Int64(Self.frameHeaderSize)
            // The last frame of a commit holds the number of pages that the database then has.
            guard frame.integer(at: 4) > 0 else { continue }
            newest.merge(pending) { $1 }
            pending = [:]
            // A rolled-back transaction may leave frames behind the end of the log, but never a commit.
            if isBroken { isDamaged = true }
        }
    }
}

/// Running checksum of a log's frames.
private struct LogSum: Equatable {
    let isBigEndian: Bool
    private var first: UInt32 = 0
    private var second: UInt32 = 0

    init(isBigEndian: Bool) { self.isBigEndian = isBigEndian }

    init(_ bytes: [UInt8], at offset: Int, isBigEndian: Bool) {
        self.isBigEndian = isBigEndian
        (first, second) = (bytes.integer(at: offset), bytes.integer(at: offset + 4))
    }

    /// - Parameter bytes: their number is a multiple of eight.
    mutating func add(_ bytes: UnsafeRawBufferPointer) {
        var offset = 0
        while offset + 8 <= bytes.count {
            first &+= word(bytes, offset) &+ second
            second &+= word(bytes, offset + 4) &+ first
            offset += 8
        }
    }

    private func word(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt32 {
        let word = bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
        return isBigEndian ? UInt32(bigEndian: word) : UInt32(littleEndian: word)
    }
}

extension [UInt8] {
    /// Returns four bytes as a number, the most significant first; 0 beyond the end.
    func integer(at offset: Int) -> UInt32 {
        guard offset >= 0, offset + 4 <= count else { return 0 }
        return self[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }
}
