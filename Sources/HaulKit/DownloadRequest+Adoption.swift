extension DownloadRequest {
    /// Which unfinished file of another program a download continues, in place of beginning a file of its own: see
    /// ``DownloadRequest/adopts``.
    public enum Adoption: String, Sendable, Hashable, Codable, CaseIterable {
        /// A file of aria2, beside which there is its control file (`NAME.aria2`): the bytes that this claims.
        case aria2ControlFile
        /// As ``aria2ControlFile``; a file without a control file is taken for the beginning of the download, all of it: what
        /// curl, a browser or another program left that writes from the first byte on.
        case partialFile
    }
}
