internal import Foundation

/// Reads cookies from files.
extension Cookies {
    /// Reads a file of cookies: a `cookies.txt` file as ``init(netscape:)``, or a database of a browser, which may be
    /// running.
    ///
    /// Databases are the SQLite files of Mozilla (`cookies.sqlite`) and Chromium (`Cookies`), told apart by their
    /// content. Haul reads a copy of the database and its write-ahead log, so that nothing changes in the browser's
    /// folder. The copy is in the temporary folder, readable by its owner alone, and removed before the call returns.
    /// Cookies of Mozilla's containers and cookies partitioned by site are left out, because they belong to the context
    /// of one page. Cookies whose value Chromium has encrypted are left out too, see ``encryptedCount``.
    ///
    /// - Parameter path: a regular file, or a link to one.
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/diskFailed`` when the file cannot be read, is larger
    ///   than 16 MiB (64 MiB for a database), or is a database without cookies of either kind.
    public init(contentsOf path: String) throws(DownloadError) {
        do {
            let file = try PosixFile.reading(path)
            let size = try file.size()
            if Self.isDatabase(try file.read(at: 0, count: Self.magic.count)) {
                self = try CookieDatabase.cookies(at: path)
                return
            }
            guard size <= Self.mostTextBytes else { throw DiskError(.fileTooLarge, call: "read", path: path) }
            let text = String(decoding: try file.read(at: 0, count: Int(size)), as: UTF8.self)
            self.init(netscape: text)
        } catch let error as DiskError where error.kind == .fileTooLarge {
            throw DownloadError(.diskFailed, "\(path) is too large for cookies.")
        } catch {
            let cause = (error as? DiskError)?.sentence ?? "\(error)"
            throw DownloadError(.diskFailed, "The cookies in \(path) cannot be read.", cause: cause)
        }
    }

    /// Whether a text is a `cookies.txt` file: it has the heading or a cookie, and otherwise only comments.
    package static func isFile(netscape text: String) -> Bool {
        var isFound = false
        for line in text.utf8.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
            let line = Substring(line)
            let isHTTPOnly = line.hasPrefix("#HttpOnly_")
            if line.hasPrefix("#"), !isHTTPOnly {
                if line.hasSuffix("HTTP Cookie File") { isFound = true }
                continue
            }
            if line.utf8.allSatisfy({ $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }) { continue }
            let fields = line.utf8.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false)
            guard (6...7).contains(fields.count), Double(Substring(fields[4])) != nil else { return false }
            isFound = true
        }
        return isFound
    }

    /// Whether a file that begins with these bytes is a database (SQLite's file format, §1.3).
    package static func isDatabase(_ bytes: some Sequence<UInt8>) -> Bool { bytes.starts(with: magic) }

    private static let magic = Array("SQLite format 3\0".utf8)
    private static let mostTextBytes: Int64 = 16 << 20
}
