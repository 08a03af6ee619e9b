/// The pages of a database file as its newest commits left them, read without SQLite, which refuses a file at the first damaged
/// page. Every number of the file may be wrong: none is believed before it was compared with the size of what it speaks of.
///
/// The format: https://sqlite.org/fileformat2.html.
struct DatabasePages {
    /// SQLite's default, which Haul's stores have.
    static let pageSize = 4096

    private let main: PosixFile
    private let log: (file: PosixFile, pages: WriteAheadLog)?
    let count: UInt32
    /// Bytes of a page that hold data: some builds of SQLite set a few at its end aside.
    private(set) var usable = Self.pageSize
    /// Pages that hold nothing any more, but rows that were deleted.
    private(set) var free: Set<UInt32> = []

    /// - Parameters:
    ///   - path: the database.
    ///   - logPath: its log, where there is one.
    init(_ path: String, log logPath: String?) throws(DiskError) {
        main = try PosixFile.reading(path)
        if let logPath {
            let file = try PosixFile.reading(logPath)
            log = (file, try WriteAheadLog(file))
        } else {
            log = nil
        }
        let pages = (try main.size() + Int64(Self.pageSize) - 1) / Int64(Self.pageSize)
        count = max(UInt32(clamping: pages), log?.pages.newest.keys.max() ?? 0)
        let first = page(1)
        guard first.starts(with: Array("SQLite format 3\0".utf8)) else { return }
        if first.count > 20, first[20] <= 32 { usable -= Int(first[20]) }
        readFreeList(first.integer(at: 32))
    }

    /// Takes the pages that a tree leads to out of the list of free ones: a wrong number in the list would hide their rows. Reads all pages.
    mutating func keepPagesOfTrees() {
        guard !free.isEmpty, count > 0 else { return }
        for number in 1...count where !free.contains(number) {
            let page = page(number)
            if kind(page, number) == .tableInterior { free.subtract(children(page, number)) }
        }
    }

    /// - Returns: the bytes of a page; fewer than a page has where the file does not go so far, or the disk does not give them.
    func page(_ number: UInt32) -> [UInt8] {
        guard number > 0, number <= count else { return [] }
        do throws(DiskError) {
            if let log, let offset = log.pages.newest[number] {
                return try log.file.read(at: offset, count: Self.pageSize)
            }
            return try main.read(at: Int64(number - 1) * Int64(Self.pageSize), count: Self.pageSize)
        } catch {
            // What the disk does not give any more is lost as a damaged page is.
            return []
        }
    }

    private mutating func readFreeList(_ first: UInt32) {
        var trunk = first
        while trunk > 1, trunk <= count, free.insert(trunk).inserted {
            let page = page(trunk)
            let leaves = Int(page.integer(at: 4))
            guard leaves <= usable / 4 - 2 else { return }
            for leaf in 0..<leaves { free.insert(page.integer(at: 8 + 4 * leaf)) }
            trunk = page.integer(at: 0)
        }
    }

    // MARK: Trees

    enum Kind: UInt8 { case indexInterior = 2, tableInterior = 5, indexLeaf = 10, tableLeaf = 13 }

    /// What a page holds; nil for one that is no part of a tree.
    ///
    /// A page that bears no kind of its own, and is not one of a long value's, is taken for rows: each row shows whether it is one.
    func kind(_ page: [UInt8], _ number: UInt32) -> Kind? {
        guard page.count == Self.pageSize, !free.contains(number) else { return nil }
        let byte = page[start(number)]
        return Kind(rawValue: byte) ?? (byte == 0 ? nil : .tableLeaf)
    }

    private func start(_ number: UInt32) -> Int { number == 1 ? 100 : 0 }

    /// Where the cells of a page begin.
    private func cells(_ page: [UInt8], _ number: UInt32, isInterior: Bool) -> [Int] {
        let start = start(number)
        let pointers = start + (isInterior ? 12 : 8)
        let count = Int(page[start + 3]) << 8 | Int(page[start + 4])
        return (0..<min(count, (usable - pointers) / 2)).compactMap { index in
            let place = pointers + 2 * index
            let cell = Int(page[place]) << 8 | Int(page[place + 1])
            return cell > pointers && cell < usable ? cell : nil
        }
    }

    /// The pages that a page of the inner table leads to.
    func children(_ page: [UInt8], _ number: UInt32) -> [UInt32] {
        cells(page, number, isInterior: true).map { page.integer(at: $0) } + [page.integer(at: start(number) + 8)]
    }

    /// The rows of a leaf, each with its number.
    func rows(_ page: [UInt8], _ number: UInt32) -> [(number: Int64, values: [StoredValue])] {
        cells(page, number, isInterior: false).compactMap { cell in
            var reader = VarintReader(page, at: cell)
            guard let size = reader.next(), let row = reader.next(),
                let payload = payload(page, at: reader.offset, size: size, mostLocal: usable - 35),
                let values = StoredValue.record(payload)
            else { return nil }
            return (row, values)
        }
    }

    /// The entries of a page of an index.
    func entries(_ page: [UInt8], _ number: UInt32, isInterior: Bool) -> [[StoredValue]] {
        cells(page, number, isInterior: isInterior).compactMap { cell in
            var reader = VarintReader(page, at: isInterior ? cell + 4 : cell)
            guard let size = reader.next(),
                let payload = payload(page, at: reader.offset, size: size, mostLocal: (usable - 12) * 64 / 255 - 23)
            else { return nil }
            return StoredValue.record(payload)
        }
    }

    /// Longest row that is read.
    private static let mostBytes: Int64 = 64 << 20

    /// The bytes of a cell: those in its page, and those in the pages that continue it.
    private func payload(_ page: [UInt8], at start: Int, size: Int64, mostLocal: Int) -> [UInt8]? {
        guard size > 0, size <= Self.mostBytes else { return nil }
        let size = Int(size)
        var local = size
        if size > mostLocal {
            let least = (usable - 12) * 32 / 255 - 23
            local = least + (size - least) % (usable - 4)
            if local > mostLocal { local = least }
        }
        guard start + local <= usable else { return nil }
        var bytes = Array(page[start..<start + local])
        var next = local < size ? page.integer(at: start + local) : 0
        while bytes.count < size {
            guard next > 1, next <= count, !free.contains(next) else { return nil }
            let more = self.page(next)
            guard more.count == Self.pageSize else { return nil }
            bytes += more[4..<4 + min(usable - 4, size - bytes.count)]
            next = more.integer(at: 0)
        }
        return bytes
    }
}
