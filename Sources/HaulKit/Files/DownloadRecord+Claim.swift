extension DownloadRecord {
    /// Status of the complete, synced partial file just before it gets the final name; `nil` before that. Until then
    /// `part` has the identity of the file and the size 0. For an empty file, only the status of the record tells that
    /// it is complete.
    var claimedFile: FileStatus? {
        guard let part, part.size > 0 || status == .publishing,
            part.size == resource?.total ?? request.size ?? part.size
        else { return nil }
        return part
    }
}
