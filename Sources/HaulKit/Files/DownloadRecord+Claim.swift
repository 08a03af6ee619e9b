extension DownloadRecord {
    /// The partial file as it was, complete and synced, when it was about to get the final name; nil as long as it was not: the
    /// record has its identity with a size of 0 then. That an empty file was, only its state tells.
    var claimedFile: FileStatus? {
        guard let part, part.size > 0 || status == .publishing,
            part.size == resource?.total ?? request.size ?? part.size
        else { return nil }
        return part
    }
}
