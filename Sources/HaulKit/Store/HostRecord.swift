internal import Foundation
internal import GRDB

/// A row of `host`: how many connections a host was seen to allow.
struct HostRecord: Sendable, Equatable, Codable, FetchableRecord, PersistableRecord {
    static let databaseTableName = "host"

    /// `https://files.example:443`.
    var origin: String
    var connections: Int
    var seenAt: Date

    /// What a host allows changes with its load: what is older is forgotten.
    static let lifetime: TimeInterval = 24 * 3600
}

extension DownloadStore {
    /// Remembers how many connections a host was seen to allow.
    func recordLimit(_ limit: Int, of host: Origin, at date: Date) async throws(DownloadError) {
        try await onWriter { store in
            try store.file.queue.write { database in
                try HostRecord(origin: host.text, connections: limit, seenAt: date).upsert(database)
                try HostRecord.filter(Column("seenAt") < date.addingTimeInterval(-HostRecord.lifetime)).deleteAll(
                    database
                )
            }
        }
    }

    /// What is remembered of all hosts.
    func hostLimits(at date: Date) async throws(DownloadError) -> [Origin: Int] {
        let oldest = date.addingTimeInterval(-HostRecord.lifetime)
        return try await onWriter { store in
            let records = try store.file.look { database in
                // What cannot be read is not known.
                try Row.fetchAll(
                    database.cachedStatement(sql: "SELECT * FROM host WHERE seenAt >= ?"),
                    arguments: [oldest]
                ).compactMap { try? HostRecord(row: $0) }
            }
            return records.reduce(into: [:]) { limits, record in
                // The store may have been edited by hand.
                if let url = URL(string: record.origin) { limits[Origin(url)] = max(1, record.connections) }
            }
        }
    }
}
