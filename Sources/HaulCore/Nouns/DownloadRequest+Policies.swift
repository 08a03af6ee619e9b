/// Reactions to files and downloads that are there already.
extension DownloadRequest {
    /// Reaction to a final name that is taken. Only ``overwrite`` ever replaces an existing file.
    public enum ConflictPolicy: String, Sendable, Hashable, Codable, CaseIterable {
        /// End with ``DownloadError/Code/fileExists``.
        case fail
        /// Use the next free name: `name (1).ext`.
        case rename
        /// Replace the existing file, once the new file is complete and verified.
        case overwrite
        /// Keep the existing file and complete the download with it. With ``DownloadRequest/checksum``, the existing
        /// file must have that digest; otherwise the download ends with ``DownloadError/Code/checksumMismatch``.
        case skip
    }

    /// Reaction to a download that the downloader already has. A request with a key refers to the download with the
    /// same ``DownloadRequest/key``, whatever its destination. A request without a key refers to the download to the
    /// same named file, or to the download of the same URL into the same folder.
    public enum PresencePolicy: String, Sendable, Hashable, Codable, CaseIterable {
        /// Continue the existing download and return its handle.
        case join
        /// Like ``join``, but a download that the user has paused stays paused and unchanged. Suits a catalogue that
        /// the application adds again at each launch.
        case joinUnlessPaused
        /// Fail with ``DownloadError/Code/alreadyAdded``.
        case refuse
        /// Add another download, which gets another name. A request with a key or a named file fails with
        /// ``DownloadError/Code/alreadyAdded`` instead, because a key and a named file belong to one download only.
        case addAnyway
    }

    /// The kind of unfinished file of another program that a download continues instead of beginning its own; see
    /// ``DownloadRequest/adopts``.
    public enum Adoption: String, Sendable, Hashable, Codable, CaseIterable {
        /// A file with an aria2 control file (`NAME.aria2`) beside it. The bytes that the control file claims count as
        /// received.
        case aria2ControlFile
        /// Like ``aria2ControlFile``, but also a file without a control file. The whole of such a file counts as the
        /// beginning of the download, because curl, browsers and other programs write a file from its first byte on.
        case partialFile
    }
}
