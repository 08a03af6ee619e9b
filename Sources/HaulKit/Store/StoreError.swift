internal import Foundation
internal import GRDB

/// Converts errors of the disk and of SQLite to errors for the callers of a store.
enum StoreError {
    /// Returns an error with the code of the disk error instead of `storeFailed`, because a store that cannot be
    /// reached is not damaged.
    static func converted(_ error: DiskError, _ sentence: String) -> DownloadError {
        if error.kind == .tooManyOpenFiles { return DownloadError(error) }
        let code = DownloadError(error).code
        // Here, `fileExists` means that a file is in the place of the state folder. For callers it would mean the file
        // of a download.
        return DownloadError(code == .fileExists ? .diskFailed : code, "\(sentence) \(error.sentence)")
    }

    /// Returns the error for a store at `path` that could not be opened, read or written.
    static func converted(_ error: any Error, at path: String) -> DownloadError {
        if let error = error as? DownloadError { return error }
        if let error = error as? DiskError { return converted(error, "The store \(path) cannot be opened.") }
        if let error = error as? SystemCalls.Errno {
            return converted(
                DiskError(errno: error.code, call: "open", path: path),
                "The store \(path) cannot be opened."
            )
        }
        switch (error as? DatabaseError)?.resultCode {
        case .SQLITE_FULL: return isFull(path)
        case .SQLITE_CANTOPEN where DescriptorLimit.isExhausted:
            return DownloadError(DiskError(.tooManyOpenFiles, call: "open", path: path))
        case .SQLITE_IOERR:
            // SQLite reports only `SQLITE_IOERR` if its log finds no space on the disk. A disk with unknown free space
            // does not count as full.
            let space = try? PosixDisk().freeSpace(at: FilePaths.folder(of: path))
            if let space, space.free < leastSpace { return isFull(path) }
            return converted(
                DiskError(.inputOutput, call: "write", path: path),
                "The store \(path) cannot be read or written."
            )
        case .SQLITE_READONLY: return DownloadError(.readOnly, "The store \(path) cannot be written: it is read-only.")
        case .SQLITE_PERM: return DownloadError(DiskError(.permissionDenied, call: "open", path: path))
        case .SQLITE_BUSY, .SQLITE_LOCKED: return StoreContention.isLocked(path)
        case .SQLITE_NOTADB, .SQLITE_CORRUPT: return damage(at: path)
        default: break
        }
        // Names only the type of other errors, because the text of a decoding error contains the row with its header
        // fields.
        let cause = (error as? DatabaseError).map { "\($0.resultCode)" } ?? "\(type(of: error))"
        return DownloadError(.storeFailed, "The store \(path) cannot be read or written.", cause: cause)
    }

    /// Returns the error for a store whose disk has no space for more rows.
    static func isFull(_ path: String) -> DownloadError {
        DownloadError(.diskFull, "The disk of the store \(path) is full: nothing more can be recorded.")
    }

    /// Bytes that SQLite needs to open a store, for the index of the log and for the first pages of the log.
    private static let leastSpace: Int64 = 64 << 10

    /// Whether an error says that the file is damaged or is not a database.
    static func isDamaged(_ error: any Error) -> Bool {
        guard let code = (error as? DatabaseError)?.resultCode else { return false }
        return code == .SQLITE_NOTADB || code == .SQLITE_CORRUPT
    }

    private static func damage(at path: String) -> DownloadError {
        DownloadError(
            .storeFailed,
            """
            The store \(path) is damaged. End Haul and start it again: what can be read is then taken over into a new store, and \
            the damaged one is kept.
            """,
            cause: "SQLITE_CORRUPT"
        )
    }
}
