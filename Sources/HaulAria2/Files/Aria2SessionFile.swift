package import Foundation

/// Writes the file of aria2's `--save-session`: an input file of the downloads that are not complete.
package struct Aria2SessionFile: Sendable {
    /// A download, and the data that its lines in the file contain.
    package struct Row: Sendable, Equatable {
        package enum Status: Sendable, Equatable {
            case active, waiting, paused, failed(Aria2ErrorCode), complete, removed
        }

        package var gid: GID
        package var uris: [String]
        /// The download's own options.
        package var options: Aria2Options
        package var status: Status

        package init(gid: GID, uris: [String], options: Aria2Options, status: Status) {
            (self.gid, self.uris, self.options, self.status) = (gid, uris, options, status)
        }
    }

    /// Whether a session file contains the download: an unfinished or failed one, or any one with `force-save`. A
    /// failure with code 3 counts only with `savesNotFound`. A download without URIs is never saved.
    package static func isSaved(_ row: Row, savesNotFound: Bool) -> Bool {
        if row.uris.isEmpty { return false }
        switch row.status {
        case .active, .waiting, .paused: return true
        case .failed(.notFound): return savesNotFound || row.options.flag("force-save")
        case .failed: return true
        case .complete, .removed: return row.options.flag("force-save")
        }
    }

    /// Returns the lines of one download.
    package static func text(_ row: Row) -> String {
        var text = row.uris.map { plain($0) + "\t" }.joined() + "\n"
        text += " gid=\(row.gid)\n"
        if row.status == .paused { text += " pause=true\n" }
        for name in row.options.values.keys.sorted() where name != "gid" && name != "pause" {
            for value in row.options.list(name) { text += " \(name)=\(plain(value))\n" }
        }
        return text
    }

    /// Removes the characters that would begin another line or another URI.
    private static func plain(_ text: String) -> String {
        String(text.unicodeScalars.filter { !["\n", "\r", "\t"].contains($0) })
    }

    package static func contents(_ rows: some Sequence<Row>, savesNotFound: Bool = true) -> Data {
        var data = Data()
        for row in rows where isSaved(row, savesNotFound: savesNotFound) { data += Data(text(row).utf8) }
        return data
    }

    /// Replaces the file by a rename, so that it is always complete. Only its owner may read it, because it contains
    /// URLs and header fields.
    package static func write(_ data: Data, to path: String) throws(Aria2Error) {
        let draft = "\(path).\(getpid()).part"
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure(path) }
        var isWritten = write(data, descriptor) && fsync(descriptor) == 0
        isWritten = close(descriptor) == 0 && isWritten && rename(draft, path) == 0
        guard isWritten else {
            unlink(draft)
            throw failure(path)
        }
    }

    private static func write(_ data: Data, _ descriptor: Int32) -> Bool {
        var offset = 0
        while offset < data.count {
            let count = data.withUnsafeBytes {
                Foundation.write(descriptor, $0.baseAddress?.advanced(by: offset), $0.count - offset)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            offset += count
        }
        return true
    }

    private static func failure(_ path: String) -> Aria2Error {
        Aria2Error(.unknown, "Failed to serialize session to '\(path)'.")
    }
}
