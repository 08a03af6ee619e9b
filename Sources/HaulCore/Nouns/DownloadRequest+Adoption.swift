extension DownloadRequest {
    /// The kind of unfinished file of another program that a download continues instead of beginning its own; see
    /// ``DownloadRequest/adopts``.
    public enum Adoption: String, Sendable, Hashable, Codable, CaseIterable {
        /// A file with an aria2 control file (`NAME.aria2`) beside it. The bytes that the control file claims count as
        /// received.
        case aria2ControlFile
        /// Like ``aria2ControlFile``, but also a file without a control file. All of such a file counts as the
        /// beginning of the download: curl, browsers and other programs that write from the first byte on leave such
        /// files.
        case partialFile
    }
}
