public import Foundation

/// What has become of a finished file.
public enum FileState: String, Sendable, Hashable, Codable, CaseIterable {
    /// It stands where it was put, as it was then: same file, size and time of change.
    case unchanged
    /// Something else stands there, or it was changed.
    case changed
    /// Nothing stands there.
    case missing
}

/// A finished file that the store remembers.
public struct StoredFile: Sendable, Hashable, Identifiable {
    /// The download that it came by.
    public let id: DownloadID
    public let path: String
    /// Its size when it was finished.
    public let bytes: Int64
    public let finishedAt: Date?
    /// Now.
    public let state: FileState
}

/// How much the files of a downloader take, by its records.
public struct StoredBytes: Sendable, Hashable {
    public let finishedFiles: Int
    public let finished: Int64
    public let unfinishedFiles: Int
    /// An unfinished file counts with its whole length, which is set aside for it.
    public let unfinished: Int64
    /// All of it.
    public var total: Int64 { finished.addingClamped(unfinished) }
}

/// What became of finished files that were to be removed.
public struct CacheRemoval: Sendable, Hashable {
    /// A file that was left, with its record.
    public struct Left: Sendable, Hashable {
        public enum Reason: Sendable, Hashable {
            /// It is not, or not any more, what was downloaded: it is not Haul's to delete.
            case changed
            /// It could not be looked at or deleted.
            case failed(DownloadError)
        }
        public let file: StoredFile
        public let reason: Reason
    }

    /// Their records are gone; the files too, where that was asked.
    public internal(set) var removed: [StoredFile] = []
    public internal(set) var left: [Left] = []
    /// Bytes that the disk got back.
    public internal(set) var freedBytes: Int64 = 0
}
