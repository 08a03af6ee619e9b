internal import Foundation
internal import GRDB

/// What the store keeps of each host, in a table for each fact; the rows are equal.
enum HostFact: CaseIterable, Sendable {
    case limit, worthwhile

    fileprivate var table: String {
        switch self {
        case .limit: "host"
        case .worthwhile: "hostWorth"
        }
    }

    func set(_ count: Int, of host: inout KnownHost) {
        switch self {
        case .limit: host.limit = count
        case .worthwhile: host.worthwhile = count
        }
    }

    /// What is older is forgotten: what a host allows changes with its load, and what is of use with everybody's.
    var lifetime: TimeInterval {
        switch self {
        case .limit: 24 * 3600
        case .worthwhile: 3600
        }
    }

    /// A row of one of the tables.
    fileprivate struct Record: Decodable, FetchableRecord {
        /// `https://files.example:443`.
        var origin: String
        var connections: Int
    }
}

extension DownloadStore {
    /// Remembers how many connections were seen to be allowed by a host, or to be worth it.
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

    /// What is remembered of all hosts.
    func knownHosts(at date: Date) async throws(DownloadError) -> [Origin: KnownHost] {
        try await onWriter { store in
            try store.file.look { database in
                var hosts: [Origin: KnownHost] = [:]
                for fact in HostFact.allCases {
                    let rows = try Row.fetchAll(
                        database.cachedStatement(sql: "SELECT * FROM \(fact.table) WHERE seenAt >= ?"),
                        arguments: [StoreDate.text(date.addingTimeInterval(-fact.lifetime))]
                    )
                    // What cannot be read is not known; the store may have been edited by hand.
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
