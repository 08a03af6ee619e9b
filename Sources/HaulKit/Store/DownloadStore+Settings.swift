internal import GRDB

/// A row of `setting`.
struct StoredSetting: Sendable, Equatable {
    let name: String
    /// JSON; `nil` if the stored value is not text.
    let value: String?
}

/// Settings that outlive their downloader: rows of `setting` whose names begin with `configuration.`.
extension DownloadStore {
    private static let prefix = "configuration."

    func settings() async throws(DownloadError) -> [StoredSetting] {
        try await reading { database in
            try Row.fetchAll(
                database,
                sql: "SELECT substr(name, ?), value FROM setting WHERE name GLOB ? ORDER BY name",
                arguments: [Self.prefix.count + 1, Self.prefix + "*"]
            ).map { row in
                let (name, value): (DatabaseValue, DatabaseValue) = (row[0], row[1])
                return StoredSetting(name: String.fromDatabaseValue(name) ?? "", value: String.fromDatabaseValue(value))
            }
        }
    }

    /// Inserts or replaces settings in one durable transaction.
    func remember(_ settings: [StoredSetting]) async throws(DownloadError) {
        try await writing { database in
            for setting in settings {
                try database.execute(
                    sql: """
                        INSERT INTO setting (name, value) VALUES (?, ?)
                        ON CONFLICT (name) DO UPDATE SET value = excluded.value
                        """,
                    arguments: [Self.prefix + setting.name, setting.value]
                )
            }
        }
    }

    func forgetSettings() async throws(DownloadError) {
        try await writing { database in
            try database.execute(sql: "DELETE FROM setting WHERE name GLOB ?", arguments: [Self.prefix + "*"])
        }
    }
}
