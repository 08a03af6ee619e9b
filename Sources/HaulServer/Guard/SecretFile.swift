internal import CDispatch
internal import Foundation
internal import Logging

/// Reads and writes files of mode 0600.
package enum SecretFile {
    package struct Failure: Error, CustomStringConvertible {
        package var text: String
        var isMissing = false
        var isDiskFull = false
        package var description: String { text }
    }

    private static func failure() -> Failure {
        let code = errno
        return Failure(
            text: String(cString: strerror(code)),
            isMissing: code == ENOENT,
            isDiskFull: [ENOSPC, EDQUOT].contains(code)
        )
    }

    /// Reads a file, and removes the access of other users.
    ///
    /// - Parameter limit: number of bytes after which reading ends.
    /// - Returns: the first bytes of the file, and whether other users had access until now.
    package static func read(_ path: String, limit: Int = 1 << 20) throws -> (bytes: [UInt8], wasExposed: Bool) {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard file >= 0 else { throw failure() }
        defer { close(file) }
        var info = stat()
        guard fstat(file, &info) == 0 else { throw failure() }
        guard info.st_mode & S_IFMT == S_IFREG else { throw Failure(text: "it is no regular file") }
        guard info.st_uid == geteuid() else { throw Failure(text: "it belongs to another user") }
        let wasExposed = info.st_mode & 0o077 != 0
        if wasExposed, fchmod(file, 0o600) != 0 { throw failure() }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while bytes.count < limit {
            let count = Glibc.read(file, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            if count < 0 { throw failure() }
            if count == 0 { break }
            bytes += buffer[..<count]
        }
        return (bytes, wasExposed)
    }

    /// Reads a file of JSON that the daemon can do without. Logs a file that cannot be used, and keeps it under another
    /// name, so that the next write does not replace it.
    ///
    /// - Parameter consequence: a sentence for the log that says what the daemon lacks without the file.
    /// - Returns: `nil` for a missing or unusable file.
    static func decode<Value: Decodable>(
        _ type: Value.Type,
        from path: String,
        _ logger: Logger,
        consequence: String
    ) -> Value? {
        do { return try JSONDecoder().decode(type, from: Data(try read(path).bytes)) } catch {
            if let failure = error as? Failure, failure.isMissing { return nil }
            let cause = (error as? Failure)?.text ?? "it is damaged"
            let aside = setAside(path)
            logger.warning("\(path) cannot be read: \(cause). The file is \(aside) now. \(consequence)")
            return nil
        }
    }

    /// Gives an unusable file another name. Returns the name.
    static func setAside(_ path: String) -> String {
        let name = path + ".unreadable"
        rename(path, name)
        return name
    }

    /// Creates a file that does not exist. After a crash or on a full disk, the file is complete or missing.
    static func create(_ path: String, _ text: String) throws {
        try withDraft(of: path, Array(text.utf8)) { draft in
            // Unlike `rename`, `link` never replaces a file that exists by now.
            if link(draft, path) == 0 {
                unlink(draft)
                return
            }
            // Uses `rename` if one of these errors shows that the file system has no hard links. `rename` would replace
            // a file, but the caller has found none.
            guard [EPERM, EOPNOTSUPP, ENOSYS].contains(errno), rename(draft, path) == 0 else { throw failure() }
        }
    }

    /// Replaces a file atomically.
    static func replace(_ path: String, _ bytes: [UInt8]) throws {
        try withDraft(of: path, bytes) { draft in guard rename(draft, path) == 0 else { throw failure() } }
    }

    /// Writes and syncs a new file beside `path`, and calls `use` to move it to `path`. Deletes the new file if a step
    /// fails.
    private static func withDraft(of path: String, _ bytes: [UInt8], _ use: (_ draft: String) throws -> Void) throws {
        let draft = path + ".new"
        guard unlink(draft) == 0 || errno == ENOENT else { throw failure() }
        let file = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { throw failure() }
        do {
            do {
                defer { close(file) }
                try write(bytes, file)
            }
            try use(draft)
        } catch {
            unlink(draft)
            throw error
        }
    }

    private static func write(_ bytes: [UInt8], _ file: Int32) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw failure() }
            rest = rest.dropFirst(count)
        }
        guard fsync(file) == 0 else { throw failure() }
    }
}
