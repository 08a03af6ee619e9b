package import Foundation

/// The state of a finished file, compared with the record of its download.
public enum FileState: String, Sendable, Hashable, Codable, CaseIterable {
    /// The path has the same file, with the same size and modification time.
    case unchanged
    /// The path has another file, or the file was modified.
    case changed
    /// The path has no file.
    case missing
}

/// A finished file that the store has a record of.
public struct StoredFile: Sendable, Hashable, Identifiable {
    /// The download that the file came from.
    public let id: DownloadID
    /// Absolute path of the file, as the record has it.
    public let path: String
    /// Length of the file in bytes when its download was completed.
    public let bytes: Int64
    /// When the download was completed; `nil` if the record does not say.
    package let finishedAt: Date?
    /// The state of the file when this value was made.
    public let state: FileState
    /// The error that examining or deleting the file caused; `nil` without one. A file that could not be examined
    /// counts as ``FileState/changed``.
    public package(set) var error: DownloadError?

    package init(
        id: DownloadID = DownloadID(),
        path: String,
        bytes: Int64,
        finishedAt: Date? = nil,
        state: FileState = .unchanged,
        error: DownloadError? = nil
    ) {
        self.id = id
        self.path = path
        self.bytes = bytes
        self.finishedAt = finishedAt
        self.state = state
        self.error = error
    }
}

/// Disk usage of a downloader's files, computed from its records.
package struct StoredBytes: Sendable, Hashable {
    /// Number of completed downloads.
    package let finishedFiles: Int
    /// Bytes of finished files.
    package let finished: Int64
    /// Number of unfinished downloads that have received bytes.
    package let unfinishedFiles: Int
    /// Bytes of unfinished files. Each file counts with its complete length, which is reserved on disk; while the
    /// length is unknown, with its received bytes.
    package let unfinished: Int64
    /// Bytes of all files, finished and unfinished.
    package var total: Int64 { finished.addingClamped(unfinished) }

    package init(finishedFiles: Int, finished: Int64, unfinishedFiles: Int, unfinished: Int64) {
        self.finishedFiles = finishedFiles
        self.finished = finished
        self.unfinishedFiles = unfinishedFiles
        self.unfinished = unfinished
    }
}

/// The result of removing finished files.
public struct CacheRemoval: Sendable, Hashable {
    /// Files whose records were removed. The files were deleted too, if the call asked for that.
    public package(set) var removed: [StoredFile] = []
    /// Files that were kept, with their records. Each has a ``StoredFile/error``, or the state ``FileState/changed``:
    /// Haul does not delete another file at the path, or a modified file.
    public package(set) var left: [StoredFile] = []
    /// Bytes of the deleted files.
    public package(set) var freedBytes: Int64 = 0

    package init(removed: [StoredFile] = [], left: [StoredFile] = [], freedBytes: Int64 = 0) {
        self.removed = removed
        self.left = left
        self.freedBytes = freedBytes
    }
}
