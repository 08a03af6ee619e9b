import Foundation
import GRDB
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// The databases of browsers' cookies.
@Suite("Cookies of browsers' databases")
struct CookieDatabaseTests {
    private let now = Date(timeIntervalSince1970: 1_800_000_000)

    private static let mozilla = """
        CREATE TABLE moz_cookies (id INTEGER PRIMARY KEY, originAttributes TEXT NOT NULL DEFAULT '', name TEXT, value TEXT,
            host TEXT, path TEXT, expiry INTEGER, lastAccessed INTEGER, isSecure INTEGER, isHttpOnly INTEGER);
        INSERT INTO moz_cookies (name, value, host, path, expiry, lastAccessed, isSecure, isHttpOnly, originAttributes) VALUES
            ('session', 'one', '.share.example', '/', 1900000000, 5, 1, 1, ''),
            ('own', 'two', 'only.example', '/x', 1900000000000, 6, 0, 0, ''),
            ('old', 'x', 'share.example', '/', 1000, 7, 0, 0, ''),
            ('container', 'x', 'share.example', '/', 1900000000, 8, 0, 0, '^userContextId=2');
        """

    private static let chromium = """
        CREATE TABLE cookies (creation_utc INTEGER, host_key TEXT, top_frame_site_key TEXT, name TEXT, value TEXT,
            encrypted_value BLOB, path TEXT, expires_utc INTEGER, is_secure INTEGER, is_httponly INTEGER,
            last_access_utc INTEGER);
        INSERT INTO cookies VALUES
            (1, '.share.example', '', 'session', 'one', x'', '/', 13544473600000000, 1, 1, 5),
            (2, 'only.example', '', 'own', 'two', NULL, '/x', 0, 0, 0, 6),
            (3, 'share.example', '', 'secret', '', x'763130FF', '/', 0, 0, 0, 7),
            (4, 'share.example', '', 'old', 'x', x'', '/', 11644474600000000, 0, 0, 8),
            (5, 'share.example', 'https://a.example', 'partitioned', 'x', x'', '/', 0, 0, 0, 9);
        """

    private func database(_ sql: String, at path: String) throws -> DatabaseQueue {
        let queue = try DatabaseQueue(path: path)
        try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA journal_mode = WAL") }
        try queue.write { try $0.execute(sql: sql) }
        return queue
    }

    @Test("sends what a browser that is running has stored, to whom it would", arguments: [mozilla, chromium])
    func readsBothKinds(_ sql: String) throws {
        let folder = try TemporaryFolder()
        let browser = try database(sql, at: folder("cookies.sqlite"))
        let before = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        // The last commit is only in the log.
        #expect(before.contains("cookies.sqlite-wal"))
        let cookies = try Cookies(contentsOf: folder("cookies.sqlite"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == before)
        for (url, field) in [
            ("https://share.example/f", "session=one"), ("https://a.share.example/f", "session=one"),
            ("http://share.example/f", nil), ("https://notshare.example/", nil), ("http://only.example/x/f", "own=two"),
            ("http://only.example/f", nil), ("http://a.only.example/x", nil),
        ] { #expect(cookies.field(for: link(url), now: now) == field, "\(url)") }
        #expect(cookies.encryptedCount == (sql == Self.chromium ? 1 : 0))
        withExtendedLifetime(browser) {}
    }

    @Test("reads a database that was closed, without a log, in a folder that nothing may be written to")
    func readsAlone() throws {
        let folder = try TemporaryFolder()
        try database(Self.mozilla, at: folder("cookies.sqlite")).close()
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(try Cookies(contentsOf: folder("cookies.sqlite")).count == 3)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == names)
    }

    @Test("leaves out rows with values that no browser writes")
    func oddRows() throws {
        let folder = try TemporaryFolder()
        let odd = """
            INSERT INTO moz_cookies (name, value, host, path, expiry, lastAccessed, isSecure, isHttpOnly) VALUES
                (NULL, 'x', 'a.example', '/', 1900000000, 1, 0, 0), ('a', x'FF00', 'a.example', '/', 1900000000, 1, 0, 0),
                ('b', 'x', 'a.example', 'no path', 1900000000, 1, 0, 0), ('c', 'x', 'a example', '/', 1900000000, 1, 0, 0),
                ('d', 'x; e=f', 'a.example', '/', 1900000000, 1, 0, 0), ('f', 'x' || char(10), 'a.example', '/', 1, 1, 0, 0),
                ('g', 'x', 'a.example', '/', 'soon', 1, 0, 0), ('h', 'x', 'a.example', '/', 1e300, 1, 0, 0),
                ('i', 'x', '', '/', 1900000000, 1, 0, 0), ('', 'x', 'a.example', '/', 1900000000, 1, 0, 0),
                ('k', 'x', 'a.example', '/', 9223372036854775807, 'x', 'yes', 'no'),
                ('l', hex(zeroblob(4000)), 'a.example', '/', 1900000000, 1, 0, 0),
                ('m', 'x', 'a.example', '/', -9223372036854775807, 1, 0, 0),
                ('n', 'kept', 'a.example', '/', 1900000000, 1, 0, 0);
            """
        try database(Self.mozilla + odd, at: folder("cookies.sqlite")).close()
        let cookies = try Cookies(contentsOf: folder("cookies.sqlite"))
        #expect(cookies.field(for: link("http://a.example/"), now: now) == "n=kept")
        // A cookie counts as secure unless its row clearly says otherwise.
        #expect(cookies.field(for: link("https://a.example/"), now: now) == "n=kept; k=x")
    }

    @Test("keeps those that were used last, where there are more than it holds")
    func keepsTheLatest() throws {
        let folder = try TemporaryFolder()
        let many = """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
            INSERT INTO moz_cookies (name, value, host, path, expiry, lastAccessed, isSecure, isHttpOnly)
                SELECT 'a', i, 'h' || i || '.example', '/', 1900000000, 100 + i, 0, 0 FROM n;
            """
        try database(Self.mozilla + many, at: folder("cookies.sqlite")).close()
        let cookies = try Cookies(contentsOf: folder("cookies.sqlite"))
        #expect(cookies.count == 3000)
        #expect(cookies.field(for: link("http://h5000.example/"), now: now) == "a=5000")
        #expect(cookies.field(for: link("http://h2000.example/"), now: now) == nil)
    }

    @Test("refuses what is no database of cookies, with a sentence")
    func refuses() throws {
        let folder = try TemporaryFolder()
        try database("CREATE TABLE other (a)", at: folder("other")).close()
        try database("CREATE TABLE cookies (a, b)", at: folder("columns")).close()
        let endless =
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT i AS host, i AS path, i AS "
            + "isSecure, i AS expiry, i AS name, i AS value FROM n"
        try database("CREATE VIEW moz_cookies AS \(endless)", at: folder("view")).close()
        try Data("SQLite format 3\0 and nothing of it".utf8).write(to: URL(fileURLWithPath: folder("broken")))
        try folder.makeFolder("folder")
        for name in ["other", "columns", "view", "broken", "folder", "missing"] {
            let error = #expect(throws: DownloadError.self) { try Cookies(contentsOf: folder(name)) }
            #expect(error?.code == .diskFailed, "\(name)")
        }
    }

    @Test("reads a cookies.txt file as before")
    func readsText() throws {
        let folder = try TemporaryFolder()
        let text = ".share.example\tTRUE\t/\tTRUE\t1900000000\tsession\tone\n"
        try Data(text.utf8).write(to: URL(fileURLWithPath: folder("cookies.txt")))
        #expect(try Cookies(contentsOf: folder("cookies.txt")) == Cookies(netscape: text))
    }
}
