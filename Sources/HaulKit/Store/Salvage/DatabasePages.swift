/// Pages of a database file as its newest commits left them. They are read without SQLite, because SQLite refuses a
/// file at the first damaged page. Any number in the file may be wrong, so each number is compared with the size of the
/// data that it refers to.
///
/// The format: https://sqlite.org/fileformat2.html.
struct DatabasePages {
    /// Default page size of SQLite, which Haul's stores use.
    static let pageSize = 4096

    private let main: PosixFile
    private let log: (file: PosixFile, pages: WriteAheadLog)?
    let count: UInt32
    /// Number of bytes of a page that hold data. Some builds of SQLite reserve a few bytes at the end of a page.
    private(set) var usable = Self.pageSize
    /// Numbers of the free pages, which hold only deleted rows.
    private(set) var free: Set<UInt32> = []

    /// - Parameters:
    ///   - path: path of the database.
    ///   - logPath: path of its write-ahead log, if there is one.
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

    /// Removes from `free` each page that a tree refers to, because a wrong number in the free list would hide the rows
    /// of a page. Reads all pages.
    mutating func keepPagesOfTrees() {
        guard !free.isEmpty, count > 0 else { return }
        for number in 1...count where !free.contains(number) {
            let page = page(number)
            if kind(page, number) == .tableInterior { free.subtract(children(page, number)) }
        }
    }

    /// - Returns: the bytes of a page; fewer if the file ends earlier or the disk cannot read them.
    func page(_ number: UInt32) -> [UInt8] {
        guard number > 0, number <= count else { return [] }
        do throws(DiskError) {
            if let log, let offset = log.pages.newest[number] {
                return try log.file.read(at: offset, count: Self.pageSize)
            }
            return try main.read(at: Int64(number - 1) * Int64(Self.pageSize), count: Self.pageSize)
        } catch {
            // A page that the disk cannot read counts as damaged.
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

    /// Returns the kind of a page; `nil` if the page is not part of a tree.
    ///
    /// A page of unknown kind counts as a leaf with rows, because each row shows whether it is valid. A page that
    /// begins with 0 continues a long value.
    func kind(_ page: [UInt8], _ number: UInt32) -> Kind? {
        guard page.count == Self.pageSize, !free.contains(number) else { return nil }
        let byte = page[start(number)]
        return Kind(rawValue: byte) ?? (byte == 0 ? nil : .tableLeaf)
    }

    private func start(_ number: UInt32) -> Int { number == 1 ? 100 : 0 }

    /// Returns the offsets of the cells of a page.
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

    /// Returns the numbers of the pages that an interior page of a table refers to.
    func children(_ page: [UInt8], _ number: UInt32) -> [UInt32] {
        cells(page, number, isInterior: true).map { page.integer(at: $0) } + [page.integer(at: start(number) + 8)]
    }

    /// Returns the rows of a leaf, each with its rowid.
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

    /// Returns the entries of an index page.
    func entries(_ page: [UInt8], _ number: UInt32, isInterior: Bool) -> [[StoredValue]] {
        cells(page, number, isInterior: isInterior).compactMap { cell in
            var reader = VarintReader(page, at: isInterior ? cell + 4 : cell)
            guard let size = reader.next(),
                let payload = payload(page, at: reader.offset, size: size, mostLocal: (usable - 12) * 64 / 255 - 23)
            else { return nil }
            return StoredValue.record(payload)
        }
    }

    /// Most bytes of a row that is read. A longer row counts as damaged.
    private static let mostBytes: Int64 = 64 << 20

    /// Returns the bytes of a cell, from its page and from the pages that continue the cell.
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
