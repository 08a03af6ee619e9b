enum SpaceError {
    static func missing(_ path: String) -> DownloadError {
        DownloadError(
            .diskFull,
            "The disk that holds \(path) has too little free space for the file. Free some space, then resume: the bytes that are on the disk are kept."
        )
    }

    /// Error of a file that no amount of free space makes fit.
    static func tooLarge(_ path: String) -> DownloadError {
        DownloadError(
            .diskFull,
            "The file is larger than the disk that holds \(path). Choose a folder on another disk."
        )
    }

    static func reserved(_ path: String, _ reserve: Int64) -> DownloadError {
        DownloadError(
            .diskFull,
            "The disk that holds \(path) has no room except the \(reserve) bytes to be kept free. Free some space, then resume: the bytes that are on the disk are kept."
        )
    }

    static func overQuota(_ quota: Int64) -> DownloadError {
        DownloadError(
            .diskFull,
            "The downloads may take no more than \(quota) bytes of the disk. Remove some, then resume: the bytes that are on the disk are kept."
        )
    }

    /// Returns the error for the record of a held download; `nil` if the hold reason is neither the disk nor the quota.
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
    /// Folder of the file; before the file exists, the folder where it will be created.
    var folderOnDisk: String { (partPath ?? file).map(FilePaths.folder(of:)) ?? folder ?? "." }
}

extension DownloadTask {
    /// Bytes that an unfinished download takes while it does not run: its whole length, because that is preallocated,
    /// or its received bytes while the length is unknown; 0 before its first byte.
    /// `DownloadStore.storedBytes(besides:)` uses the same rule.
    var bytesAtRest: Int64 {
        let received = machine.persisted.count
        return received == 0 ? 0 : max(record.total ?? 0, received)
    }
}
