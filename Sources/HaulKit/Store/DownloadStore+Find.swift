internal import Foundation
internal import GRDB

/// Finds single downloads by their request, their path or their id.
extension DownloadStore {
    /// Returns the downloads whose files were about to take their final names when their process ended.
    func unfinishedPublications() async throws(DownloadError) -> [Saved] {
        try await onWriter { store in
            try store.readingRows { database, odd in
                try Row.fetchAll(
                    database.cachedStatement(sql: "SELECT \(OddRows.columns) FROM download WHERE status = 'publishing'")
                ).compactMap { try odd.saved($0, database) }
            }
        }
    }

    /// Finds the newest download that a request continues. Compares the key if the request has one, else the named
    /// file, else the URL and the folder.
    func find(_ request: DownloadRequest) async throws(DownloadError) -> Saved? {
        try await find([request]).first ?? nil
    }

    /// Finds the downloads that the requests continue, with one element for each request.
    func find(_ requests: [DownloadRequest]) async throws(DownloadError) -> [Saved?] {
        try await onWriter { store in
            store.writeGathered()
            return try store.readingRows { database, odd in
                try requests.map { request in
                    let rows =
                        try Self.newest(request, database) + Self.newestOfEarlierSpelling(request, database)
                    for row in rows {
                        let row = try Row.fetchOne(
                            database.cachedStatement(sql: "SELECT \(OddRows.columns) FROM download WHERE rowid = ?"),
                            arguments: [row]
                        )
                        guard let row, let saved = try odd.saved(row, database) else { continue }
                        // A request for the same URL and folder is another download if its body or its name differs, or
                        // if it wants the playlist and the download is a film.
                        if request.key == nil, case .folder = request.destination,
                            saved.record.request.method != request.method || !saved.record.hasName(of: request)
                                || saved.record.isFilm(besides: request)
                        {
                            continue
                        }
                        return saved
                    }
                    return nil
                }
            }
        }
    }

    private static func newestOfEarlierSpelling(_ request: DownloadRequest, _ database: Database) throws -> [Int64] {
        guard let earlier = request.earlierSpelling.flatMap(URL.init(string:)), request.key == nil else { return [] }
        var request = request
        request.url = earlier
        return try newest(request, database)
    }

    /// Returns the rowids of the matching downloads, newest first. A first query without sorting is enough for most
    /// requests of a list, which match no row.
    private static func newest(_ request: DownloadRequest, _ database: Database) throws -> [Int64] {
        for order in ["LIMIT 1", "ORDER BY createdAt DESC, rowid DESC"] {
            var statement: BoundStatement
            if let key = request.key {
                statement = try BoundStatement("SELECT rowid FROM download WHERE key = ?", database)
                statement.bind(key)
                return try statement.integers()
            }
            switch request.destination {
            case .file(let path):
                statement = try BoundStatement("SELECT rowid FROM download WHERE file = ? \(order)", database)
                statement.bind(path)
            case .folder(let path):
                statement = try BoundStatement(
                    "SELECT rowid FROM download WHERE url = ? AND folder = ? \(order)",
                    database
                )
                statement.bind(request.url.absoluteString)
                statement.bind(path)
            }
            let rows = try statement.integers()
            if rows.isEmpty { return try completed(request, database) }
            if order != "LIMIT 1" { return rows }
        }
        return []
    }

    /// Returns the rowids of completed downloads of the same URL whose file is at the path that the request leads to.
    /// So a request that names the file finds a download that was requested with the folder, and the reverse.
    private static func completed(_ request: DownloadRequest, _ database: Database) throws -> [Int64] {
        let path =
            switch request.destination {
            case .file(let path): path
            case .folder(let path): FilePaths.join(path, request.suggestedName ?? request.url.lastPathComponent)
            }
        // The plus signs keep SQLite from reading all completed downloads by the index of their status.
        var statement = try BoundStatement(
            "SELECT rowid FROM download WHERE url = ? AND +status = 'completed' AND finalPath = ? AND +key IS NULL "
                + "ORDER BY createdAt DESC, rowid DESC",
            database
        )
        statement.bind(request.url.absoluteString)
        statement.bind(path)
        return try statement.integers()
    }

    /// Finds another download than `id` whose partial file is at `partPath`.
    ///
    /// - Parameter file: the file at the path. If several records name the path, the record of this file is returned.
    func find(partPath: String, besides id: String, of file: FileStatus? = nil) async throws(DownloadError)
        -> DownloadRecord?
    {
        try await onWriter { store in
            try store.readingRows { database, odd in
                let rows = try Row.fetchAll(
                    database.cachedStatement(
                        sql: "SELECT \(OddRows.columns) FROM download WHERE partPath = ? AND id != ?"
                    ),
                    arguments: [partPath, id]
                )
                let records = rows.compactMap { odd.record($0) }
                return records.first { record in
                    guard let file, let part = record.part else { return false }
                    return part.isSameFile(as: file)
                } ?? records.first
            }
        }
    }

    /// Finds the newest download whose file is, or will be, at `finalPath`.
    func find(finalPath: String) async throws(DownloadError) -> DownloadRecord? {
        try await onWriter { store in
            store.writeGathered()
            return try store.readingRows { database, odd in
                let rows = try Row.fetchAll(
                    database.cachedStatement(
                        sql: """
                            SELECT \(OddRows.columns) FROM download WHERE finalPath = ? ORDER BY createdAt DESC, rowid DESC
                            """
                    ),
                    arguments: [finalPath]
                )
                for row in rows { if let record = odd.record(row) { return record } }
                return nil
            }
        }
    }

    /// Returns the downloads with these ids, except unknown and unreadable ones.
    func find(ids: [DownloadID]) async throws(DownloadError) -> [Saved] {
        let condition = StoreCondition.ids(ids)
        return try await onWriter { store in
            store.writeGathered()
            return try store.readingRows { database, odd in
                let rows = try Row.fetchCursor(
                    database,
                    sql: "\(RowReader.sql) WHERE \(condition.sql)",
                    arguments: condition.bound
                )
                var reader = RowReader()
                var all: [Saved] = []
                while let row = try rows.next() {
                    if let saved = try reader.saved(row, database, &odd) { all.append(saved) }
                }
                return all
            }
        }
    }

    /// Returns the newest download that was requested with one of these URLs.
    func newest(ofURLs urls: [String]) async throws(DownloadError) -> DownloadID? {
        var condition = StoreCondition()
        condition.add(isIn: urls, "url")
        condition.order = "createdAt DESC, download.rowid DESC"
        condition.page = " LIMIT 1"
        return try await ids(condition).first
    }

    func find(id: String) async throws(DownloadError) -> Saved? { try await lookUp(id).saved }

    /// Finds a download that is expected to exist.
    ///
    /// - Returns: `nil` if there is no such download.
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/storeFailed`` if its row cannot be read.
    func findReadable(id: String) async throws(DownloadError) -> Saved? {
        let (saved, isThere) = try await lookUp(id)
        if saved == nil, isThere {
            throw DownloadError(
                .storeFailed,
                "The row of this download cannot be read: the store was damaged or edited. Add the download again."
            )
        }
        return saved
    }

    private func lookUp(_ id: String) async throws(DownloadError) -> (saved: Saved?, isThere: Bool) {
        try await onWriter { store in
            store.writeGathered()
            return try store.readingRows { database, odd in
                let row = try Row.fetchOne(
                    database.cachedStatement(sql: "SELECT \(OddRows.columns) FROM download WHERE id = ?"),
                    arguments: [id]
                )
                return (try row.flatMap { try odd.saved($0, database) }, row != nil)
            }
        }
    }
}

/// Queries for renames of finished files. During a rename the row has both names: `partPath` holds the old one.
extension DownloadStore {
    /// Returns the downloads whose finished files were being renamed when their process ended.
    func unfinishedRenames() async throws(DownloadError) -> [DownloadRecord] {
        try await onWriter { store in
            try store.readingRows { database, odd in
                // The plus makes SQLite use the index on `partPath`, which has few rows, instead of the index on
                // `status`.
                let sql = "SELECT \(OddRows.columns) FROM download WHERE partPath > '' AND +status = 'completed'"
                return try Row.fetchAll(database.cachedStatement(sql: sql)).compactMap { odd.record($0) }
            }
        }
    }

    /// Whether another unfinished download than `id` will have its file at `path`.
    func isDestination(_ path: String, besides id: String) async throws(DownloadError) -> Bool {
        try await onWriter { store in
            store.writeGathered()
            return try store.readingRows { database, _ in
                let rows = try Row.fetchAll(
                    database.cachedStatement(
                        sql: """
                            SELECT 1 FROM download
                            WHERE (file = ?1 OR finalPath = ?1) AND id != ?2 AND status != 'completed' LIMIT 1
                            """
                    ),
                    arguments: [path, id]
                )
                return !rows.isEmpty
            }
        }
    }
}
