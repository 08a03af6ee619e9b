internal import Foundation
internal import GRDB

/// Copies the readable rows of a damaged store into a new one. Does not change the damaged files.
struct StoreSalvage {
    struct Result: Sendable, Equatable {
        /// Number of downloads that were copied.
        var kept = 0
        /// Number of known downloads that were not copied.
        var lost = 0
        /// Names of the first lost downloads: their URLs or ids.
        var names: [String] = []
    }

    private let pages: DatabasePages

    init(_ pages: DatabasePages) {
        var pages = pages
        pages.keepPagesOfTrees()
        self.pages = pages
    }

    /// Limit of names of lost downloads.
    private static let mostNames = 100

    /// - Parameter database: new database with all tables, and with rows only in `grdb_migrations`.
    func write(into database: Database) throws -> Result {
        let columns = try database.columns(in: "download").map(\.name)
        var referenced: Set<UInt32> = []
        forEachPage { page, number, kind in
            if kind == .tableInterior { referenced.formUnion(pages.children(page, number)) }
        }
        var odd = OddRows()
        var lost: [String: Set<Int64>] = [:]
        var progress: [[StoredValue]] = []
        // Reads the pages that a table refers to before the other pages, which may hold outdated rows: the first row of
        // a download is kept.
        for isNamed in [true, false] {
            try forEachPage { page, number, kind in
                guard kind == .tableLeaf, referenced.contains(number) == isNamed else { return }
                for (row, values) in pages.rows(page, number) {
                    if Self.isDownload(values, columns) {
                        guard try !write(row, values, columns, &odd, database) else { continue }
                        if let id = values[0].text { lost[id, default: []].insert(row) }
                    } else if Self.isProgress(values) {
                        // The row of the download may come later.
                        progress.append(values)
                    } else if Self.isSetting(values) {
                        try database.execute(
                            sql: "INSERT OR IGNORE INTO setting VALUES (?, ?)",
                            arguments: StatementArguments(values.map(\.databaseValue))
                        )
                    }
                }
            }
        }
        for values in progress {
            guard try isThere(values[0].text ?? "", database) else {
                if let id = values[0].text, lost[id] == nil { lost[id] = [] }
                continue
            }
            try write(progress: values, database)
        }
        try noteLost(of: &lost, database)
        for id in lost.keys where try isThere(id, database) { lost[id] = nil }
        var result = Result(
            kept: try Int.fetchOne(database, sql: "SELECT count(*) FROM download") ?? 0,
            lost: lost.count
        )
        result.names = try names(of: lost, database)
        return result
    }

    // MARK: Pages

    private func forEachPage(_ body: (_ page: [UInt8], _ number: UInt32, _ kind: DatabasePages.Kind) throws -> Void)
        rethrows
    {
        guard pages.count > 0 else { return }
        for number in 1...pages.count {
            let page = pages.page(number)
            if let kind = pages.kind(page, number) { try body(page, number, kind) }
        }
    }

    private func forEachEntry(_ body: (_ text: String, _ row: Int64) throws -> Void) rethrows {
        try forEachPage { page, number, kind in
            guard kind == .indexLeaf || kind == .indexInterior else { return }
            for values in pages.entries(page, number, isInterior: kind == .indexInterior) where values.count == 2 {
                if let text = values[0].text, let row = values[1].integer { try body(text, row) }
            }
        }
    }

    // MARK: Rows

    /// Number of columns of `download` in the first state of ``EarlierStores``.
    private static let fewestColumns = 16

    /// - Parameter columns: columns of the present table. A row that was written before a migration added columns has
    ///   fewer values.
    private static func isDownload(_ values: [StoredValue], _ columns: [String]) -> Bool {
        values.count >= fewestColumns && values.count <= columns.count
            && values[0].text.flatMap { DownloadID($0) } != nil
    }

    private static func isProgress(_ values: [StoredValue]) -> Bool {
        values.count == 5 && values[0].text.flatMap { DownloadID($0) } != nil
            && values[1...3].allSatisfy { $0.text != nil }
            && values[4].integer != nil
    }

    private static func isSetting(_ values: [StoredValue]) -> Bool {
        guard values.count == 2, let name = values[0].text, values[1].text != nil else { return false }
        return name.hasPrefix("configuration.") || name == "root"
    }

    /// - Returns: whether the download is in the new store.
    private func write(
        _ row: Int64,
        _ values: [StoredValue],
        _ columns: [String],
        _ odd: inout OddRows,
        _ database: Database
    ) throws -> Bool {
        guard let id = values[0].text else { return false }
        if try isThere(id, database) { return true }
        var values = values
        let names = columns.prefix(values.count)
        // One of two rows with the same key is outdated. Nothing tells which, so the row that is read second loses its
        // key.
        if let key = names.firstIndex(of: "key"), let text = values[key].text,
            try has("SELECT 1 FROM download WHERE key = ?", text, database)
        {
            values[key] = .null
        }
        let isFree = try !has("SELECT 1 FROM download WHERE rowid = ?", row, database)
        do {
            try database.cachedStatement(
                sql: """
                    INSERT INTO download (rowid, \(names.joined(separator: ", ")))
                    VALUES (?\(String(repeating: ", ?", count: names.count)))
                    """
            ).execute(arguments: [isFree ? row : nil] + StatementArguments(values.map(\.databaseValue)))
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
            // A required value is missing.
            return false
        }
        let new = database.lastInsertedRowID
        let sql = "SELECT \(OddRows.columns) FROM download WHERE rowid = ?"
        let written = try Row.fetchOne(database.cachedStatement(sql: sql), arguments: [new])
        if let written, odd.record(written) != nil { return true }
        try database.cachedStatement(sql: "DELETE FROM download WHERE rowid = ?").execute(arguments: [new])
        return false
    }

    /// Copies a progress row if it is consistent. A wrong one would claim bytes that are not on disk.
    private func write(progress values: [StoredValue], _ database: Database) throws {
        guard let id = values[0].text, let written = values[1].text, let synced = values[2].text,
            let bootID = values[3].text, let received = values[4].integer
        else { return }
        let claim = ProgressRecord(id, written: written, synced: synced, bootID: bootID, received: received)
        guard claim.isConsistent else { return }
        try database.cachedStatement(sql: "INSERT OR IGNORE INTO progress VALUES (?, ?, ?, ?, ?)").execute(
            arguments: StatementArguments(values.map(\.databaseValue))
        )
    }

    // MARK: What is lost

    /// Adds the downloads that an index names and the new store does not have.
    private func noteLost(of lost: inout [String: Set<Int64>], _ database: Database) throws {
        try forEachEntry { text, row in
            guard text.utf8.count == 36, DownloadID(text) != nil, try !isThere(text, database) else { return }
            lost[text, default: []].insert(row)
        }
    }

    /// Returns the URLs of lost downloads if an index has them, else their ids.
    private func names(of lost: [String: Set<Int64>], _ database: Database) throws -> [String] {
        var rows: [Int64: String] = [:]
        for (id, numbers) in lost.sorted(by: { $0.key < $1.key }).prefix(Self.mostNames) {
            for number in numbers where try !has("SELECT 1 FROM download WHERE rowid = ?", number, database) {
                rows[number] = id
            }
        }
        var urls: [String: String] = [:]
        if !rows.isEmpty {
            forEachEntry { text, row in
                guard let id = rows[row], text.contains("://"), let url = URL(string: text) else { return }
                urls[id] = String(url.masked.prefix(500))
            }
        }
        return lost.keys.sorted().prefix(Self.mostNames).map { urls[$0] ?? "id \($0.prefix(64))" }
    }

    private func isThere(_ id: String, _ database: Database) throws -> Bool {
        try has("SELECT 1 FROM download WHERE id = ?", id, database)
    }

    private func has(_ sql: String, _ value: some DatabaseValueConvertible, _ database: Database) throws -> Bool {
        try Int.fetchOne(database.cachedStatement(sql: sql), arguments: [value]) != nil
    }
}
