/// The errors of disks and quotas without space.
enum SpaceError {
    static func full(_ path: String) -> DownloadError {
        DownloadError(DiskError(.full, call: "statvfs", path: path))
    }

    static func reserved(_ path: String, _ reserve: Int64) -> DownloadError {
        DownloadError(
            .diskFull,
            "The disk that holds \(path) has no room except the \(reserve) bytes to be kept free. Free some space, then resume: the received bytes are kept."
        )
    }

    static func overQuota(_ quota: Int64) -> DownloadError {
        DownloadError(
            .diskFull,
            "The downloads may take no more than \(quota) bytes of the disk. Remove some, then resume: the received bytes are kept."
        )
    }

    /// What a record says of a download that waits; nil where the reason is not one of the disk.
    static func held(_ hold: HoldReason, _ record: DownloadRecord) -> DownloadError? {
        switch hold {
        case .diskFull:
            DownloadError(
                .diskFull,
                "The disk of \(record.folderOnDisk) has no room for the file. The download resumes by itself when there is room."
            )
        case .quota:
            DownloadError(
                .diskFull,
                "The downloads have used up their share of the disk. This one resumes by itself when there is room."
            )
        case .offline, .metered, .outsideHours: nil
        }
    }
}

extension DownloadRecord {
    /// Where its file lies, or is to lie.
    var folderOnDisk: String { (partPath ?? file).map(FilePaths.folder(of:)) ?? folder ?? "." }
}

extension DownloadTask {
    /// What an unfinished download takes while it does nothing: its whole length, which is set aside; nothing before its first
    /// byte. The store counts alike.
    var bytesAtRest: Int64 {
        let received = machine.persisted.count
        return received == 0 ? 0 : max(record.total ?? 0, received)
    }
}

extension Int64 {
    func addingClamped(_ other: Int64) -> Int64 {
        let (sum, isTooLarge) = addingReportingOverflow(other)
        return isTooLarge ? (other < 0 ? .min : .max) : sum
    }
}
