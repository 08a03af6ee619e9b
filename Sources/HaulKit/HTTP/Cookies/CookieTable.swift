internal import Foundation
internal import GRDB

/// The table in which a browser keeps its cookies.
struct CookieTable {
    private let name: String
    /// Names of the columns, in this order: host, path, TLS required, expiry, name, value.
    private let required: [String]
    private let isHTTPOnly: String
    /// Column with the time of the last use.
    private let lastUse: String
    /// Column that is not empty for a cookie outside the default context, such as one of a container or a partition.
    private let context: String
    private let encryptedValue: String?
    /// Converts the number in the expiry column to a date; `nil` for a session cookie.
    private let expiry: @Sendable (Int64) -> Date?

    static let known = [mozilla, chromium]

    private static let mozilla = CookieTable(
        name: "moz_cookies",
        required: ["host", "path", "isSecure", "expiry", "name", "value"],
        isHTTPOnly: "isHttpOnly",
        lastUse: "lastAccessed",
        context: "originAttributes",
        encryptedValue: nil
    ) { number in
        // Schemas from version 16 on store milliseconds, earlier ones seconds. A number that would lie after the year
        // 9999 in seconds is in milliseconds.
        CookieFile.date(number > 253_402_300_799 ? Double(number) / 1000 : Double(number))
    }

    private static let chromium = CookieTable(
        name: "cookies",
        required: ["host_key", "path", "is_secure", "expires_utc", "name", "value"],
        isHTTPOnly: "is_httponly",
        lastUse: "last_access_utc",
        context: "top_frame_site_key",
        encryptedValue: "encrypted_value"
    ) { number in
        // Microseconds since 1601.
        number == 0 ? nil : CookieFile.date(Double(number) / 1_000_000 - 11_644_473_600)
    }

    /// Returns the names of the table's columns; `nil` if the table or a required column is missing.
    func columns(in database: Database) throws -> Set<String>? {
        // Refuses a view of this name, because its query could run without end.
        let kind = try String.fetchOne(
            database,
            sql: "SELECT type FROM sqlite_master WHERE name = ? COLLATE NOCASE",
            arguments: [name]
        )
        guard kind == "table" else { return nil }
        let columns = try Row.fetchAll(database, sql: "SELECT name FROM pragma_table_info(?)", arguments: [name])
            .compactMap { Self.text($0["name"] ?? .null) }
        return Set(required).isSubset(of: columns) ? Set(columns) : nil
    }

    /// Returns the most recently used cookies, at most ``Cookies/most``.
    func cookies(in database: Database, _ columns: Set<String>) throws -> Cookies {
        let optional = [isHTTPOnly, context, encryptedValue].compactMap(\.self).filter(columns.contains)
        var statement = "SELECT \((required + optional).map { "\"\($0)\"" }.joined(separator: ", ")) FROM \"\(name)\""
        if columns.contains(context) { statement += " WHERE coalesce(\"\(context)\", '') = ''" }
        if columns.contains(lastUse) { statement += " ORDER BY \"\(lastUse)\" DESC" }
        var cookies: [Cookie] = []
        var encrypted = 0
        let rows = try Row.fetchCursor(database, sql: statement + " LIMIT \(Self.mostRows)")
        while cookies.count < Cookies.most, let row = try rows.next() {
            if isEncrypted(row) {
                encrypted += 1
            } else if let cookie = cookie(row) {
                cookies.append(cookie)
            }
        }
        return Cookies(cookies.reversed(), encryptedCount: encrypted)
    }

    /// Limit of rows that are read. Exceeds `Cookies.most`, because some rows may be unusable.
    private static let mostRows = 100_000

    private func isEncrypted(_ row: Row) -> Bool {
        guard let encryptedValue, Self.text(row[required[5]] ?? .null) ?? "" == "" else { return false }
        let value: DatabaseValue = row[encryptedValue] ?? .null
        return Data.fromDatabaseValue(value).map { !$0.isEmpty } ?? false
    }

    /// - Returns: `nil` if a required value of the row has an unexpected type.
    private func cookie(_ row: Row) -> Cookie? {
        let values = required.map { column -> DatabaseValue in row[column] ?? .null }
        guard let host = Self.text(values[0]), let path = Self.text(values[1]),
            let expires = Int64.fromDatabaseValue(values[3]), let name = Self.text(values[4]),
            let value = Self.text(values[5])
        else { return nil }
        return CookieFile.cookie(
            host: host,
            withSubdomains: host.utf8.first == UInt8(ascii: "."),
            path: path,
            isSecure: Self.flag(values[2]),
            isHTTPOnly: Self.flag(row[isHTTPOnly] ?? .null),
            expires: expiry(expires),
            name: name,
            value: value
        )
    }

    private static func text(_ value: DatabaseValue) -> String? {
        guard case .string(let text) = value.storage else { return nil }
        return text
    }

    /// Treats a value that is not a number as set, because a set flag restricts where the cookie is sent.
    private static func flag(_ value: DatabaseValue) -> Bool { Int64.fromDatabaseValue(value) != 0 }
}
