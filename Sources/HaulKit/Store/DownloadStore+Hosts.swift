internal import Foundation
internal import GRDB

extension HostFact {
    /// Table of the fact. All of these tables have the same columns.
    fileprivate var table: String {
        switch self {
        case .limit: "host"
        case .worthwhile: "hostWorth"
        case .changeUnderOneName: "hostChange"
        }
    }

    /// Row of one of these tables.
    fileprivate struct Record: Decodable, FetchableRecord {
        /// Text of an ``Origin``, such as `https://files.example:443`.
        var origin: String
        var connections: Int
    }
}

extension DownloadStore {
    /// Stores how many connections a host allowed or how many were worthwhile, or that it changed a file under one name.
    /// Deletes facts of the same kind, about
    /// any host, that are older than their `lifetime`.
    func record(_ fact: HostFact, _ count: Int, of host: Origin, at date: Date) async throws(DownloadError) {
        try await onWriter { store in
            try store.file.queue.write { database in
                try database.execute(
                    sql: """
                        INSERT INTO \(fact.table) (origin, connections, seenAt) VALUES (?, ?, ?)
                        ON CONFLICT (origin) DO UPDATE SET connections = excluded.connections, seenAt = excluded.seenAt
                        """,
                    arguments: [host.text, count, StoreDate.text(date)]
                )
                try database.execute(
                    sql: "DELETE FROM \(fact.table) WHERE seenAt < ?",
                    arguments: [StoreDate.text(date.addingTimeInterval(-fact.lifetime))]
                )
            }
        }
    }

    /// Returns the facts about all hosts, except facts that are older than their `lifetime`.
    func knownHosts(at date: Date) async throws(DownloadError) -> [Origin: KnownHost] {
        try await onWriter { store in
            try store.file.look { database in
                var hosts: [Origin: KnownHost] = [:]
                for fact in HostFact.allCases {
                    let rows = try Row.fetchAll(
                        database.cachedStatement(sql: "SELECT * FROM \(fact.table) WHERE seenAt >= ?"),
                        arguments: [StoreDate.text(date.addingTimeInterval(-fact.lifetime))]
                    )
                    // Skips unreadable rows: the store may have been edited by hand.
                    for record in rows.compactMap({ try? HostFact.Record(row: $0) }) {
                        guard let url = URL(string: record.origin) else { continue }
                        fact.set(max(1, record.connections), of: &hosts[Origin(url), default: KnownHost()])
                    }
                }
                return hosts
            }
        }
    }
}
