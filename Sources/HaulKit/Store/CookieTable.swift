internal import Foundation
internal import GRDB

/// The table in which a browser keeps its cookies.
struct CookieTable {
    private let name: String
    /// The columns of host, path, whether TLS is needed, expiry, name, value.
    private let required: [String]
    private let isHTTPOnly: String
    /// When the cookie was used last.
    private let lastUse: String
    /// Not empty for a cookie of another context than a page that stands for itself.
    private let context: String
    private let encryptedValue: String?
    /// Since 1970, of the number in the column; nil for a cookie of one session.
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
        // Milliseconds from version 16 of the schema on; as seconds they would lie after the year 9999.
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

    /// The names of the table's columns; nil where there is no such table, or it lacks one of those that are needed.
    func columns(in database: Database) throws -> Set<String>? {
        // A view of this name could compute for ever.
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

    /// The cookies that were used last, as many as ``Cookies`` holds.
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

    /// Of which some may be of no use.
    private static let mostRows = 100_000

    private func isEncrypted(_ row: Row) -> Bool {
        guard let encryptedValue, Self.text(row[required[5]] ?? .null) ?? "" == "" else { return false }
        let value: DatabaseValue = row[encryptedValue] ?? .null
        return Data.fromDatabaseValue(value).map { !$0.isEmpty } ?? false
    }

    /// - Returns: nil for a row with another kind of value than a browser writes.
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

    /// What is no number counts as set: a cookie goes to fewer places then.
    private static func flag(_ value: DatabaseValue) -> Bool { Int64.fromDatabaseValue(value) != 0 }
}
