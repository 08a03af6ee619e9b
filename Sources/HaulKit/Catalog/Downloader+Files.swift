extension Downloader {
    /// Calls about the files of downloads: list finished files, find missing files, remove old files.
    public nonisolated var files: Files { Files(downloader: self) }

    /// Calls about the files of one downloader. Holds a strong reference to the downloader.
    public struct Files: Sendable {
        let downloader: Downloader

        /// Returns a page of finished files, each compared with the disk.
        ///
        /// - Parameter filter: selects the downloads; the states of the filter are ignored.
        /// - Throws: ``DownloadError`` with code ``DownloadError/Code/storeFailed`` or ``DownloadError/Code/shutDown``.
        public func list(_ filter: DownloadFilter = .all) async throws(DownloadError) -> [StoredFile] {
            try await downloader.storedFiles(filter)
        }

        /// Returns the finished files that are missing or have changed. ``Download/fetchAgain()`` fetches such a
        /// file.
        ///
        /// - Parameter filter: selects the downloads to examine; the states of the filter are ignored.
        /// - Throws: as ``list(_:)``.
        public func missing(_ filter: DownloadFilter = .all) async throws(DownloadError) -> [StoredFile] {
            try await downloader.missingFiles(filter)
        }

        /// Returns the disk usage of finished and unfinished files, in bytes, from the store. The disk is not examined.
        /// An unfinished file counts with its complete length, which is reserved on disk, or with its received bytes
        /// while the length is unknown.
        ///
        /// - Throws: as ``list(_:)``.
        public func storedBytes() async throws(DownloadError) -> Int64 { try await downloader.storedBytes().total }

        /// Returns the number of bytes that this user can still write at a path; `nil` if the file system does not
        /// report it. The path need not exist.
        ///
        /// - Throws: ``DownloadError`` with a disk code; ``DownloadError/Code/invalidDestination`` if `path` is a URL
        ///   but not a file URL; ``DownloadError/Code/shutDown``.
        public func freeDiskSpace(at path: String) async throws(DownloadError) -> Int64? {
            try await downloader.freeDiskSpace(at: path)
        }

        /// Removes completed downloads that ended more than `age` ago, and deletes their files if they are unchanged.
        ///
        /// - Parameters:
        ///   - age: time since the end of the download.
        ///   - deletingFiles: `false` removes only the records and keeps all files.
        /// - Returns: the removed files, and the files that were kept because they have changed or could not be
        ///   deleted.
        /// - Throws: ``DownloadError`` with code ``DownloadError/Code/storeFailed`` or ``DownloadError/Code/shutDown``.
        @discardableResult
        public func removeFinished(olderThan age: Duration, deletingFiles: Bool = true) async throws(DownloadError)
            -> CacheRemoval
        {
            try await downloader.removeFinished(olderThan: age, deletingFiles: deletingFiles)
        }

        /// Cancels every unfinished download and removes every completed download with its file. Completed downloads
        /// whose files have changed or cannot be deleted stay: see ``CacheRemoval/left``.
        ///
        /// - Parameter deletingFiles: `false` removes the records of completed downloads and keeps all their files.
        /// - Returns: as ``removeFinished(olderThan:deletingFiles:)``.
        /// - Throws: as ``removeFinished(olderThan:deletingFiles:)``.
        @discardableResult
        public func clear(deletingFiles: Bool = true) async throws(DownloadError) -> CacheRemoval {
            try await downloader.clear(deletingFiles: deletingFiles)
        }
    }
}
