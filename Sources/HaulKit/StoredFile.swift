public import Foundation

/// The state of a finished file, compared with what its download recorded.
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
    /// Absolute path of the file when it was finished.
    public let path: String
    /// Length in bytes when it was finished.
    public let bytes: Int64
    /// When the download was completed.
    public let finishedAt: Date?
    /// The state of the file when this value was made.
    public let state: FileState

    /// A stored file for tests and previews; a downloader makes its own. Nothing is checked. `bytes` is its length in bytes.
    public init(
        id: DownloadID = DownloadID(),
        path: String,
        bytes: Int64,
        finishedAt: Date? = nil,
        state: FileState = .unchanged
    ) {
        self.id = id
        self.path = path
        self.bytes = bytes
        self.finishedAt = finishedAt
        self.state = state
    }
}

/// Disk usage of a downloader's files, by its records.
public struct StoredBytes: Sendable, Hashable {
    /// Number of completed downloads.
    public let finishedFiles: Int
    /// Bytes of finished files.
    public let finished: Int64
    /// Number of unfinished downloads that have received bytes.
    public let unfinishedFiles: Int
    /// Bytes of unfinished files; each counts with its complete length, which is reserved on disk.
    public let unfinished: Int64
    /// Bytes of all files, finished and unfinished.
    public var total: Int64 { finished.addingClamped(unfinished) }

    /// A disk usage for tests and previews; a downloader makes its own. Nothing is checked. `finished` and `unfinished` are in
    /// bytes.
    public init(finishedFiles: Int, finished: Int64, unfinishedFiles: Int, unfinished: Int64) {
        self.finishedFiles = finishedFiles
        self.finished = finished
        self.unfinishedFiles = unfinishedFiles
        self.unfinished = unfinished
    }
}

/// The result of removing finished files.
public struct CacheRemoval: Sendable, Hashable {
    /// A file that was kept, together with its record.
    public struct Left: Sendable, Hashable {
        /// Why a file was kept.
        public enum Reason: Sendable, Hashable {
            /// The file is not, or no longer, the one that was downloaded: it is not Haul's to delete.
            case changed
            /// The file could not be examined or deleted.
            case failed(DownloadError)
        }
        /// The file that was kept.
        public let file: StoredFile
        /// Why it was kept.
        public let reason: Reason

        /// A kept file for tests and previews.
        public init(file: StoredFile, reason: Reason) {
            self.file = file
            self.reason = reason
        }
    }

    /// Files whose records are removed; the files too, where that was requested.
    public internal(set) var removed: [StoredFile] = []
    /// Files that were kept, with their records.
    public internal(set) var left: [Left] = []
    /// Bytes of the deleted files.
    public internal(set) var freedBytes: Int64 = 0

    /// A result for tests and previews; a downloader makes its own. Nothing is checked. `freedBytes` is in bytes.
    public init(removed: [StoredFile] = [], left: [Left] = [], freedBytes: Int64 = 0) {
        self.removed = removed
        self.left = left
        self.freedBytes = freedBytes
    }
}
