internal import Foundation

extension DiskError {
    /// Maps the errno of a system call to its kind; see `man 3 errno`.
    init(errno: Int32, call: String, path: String) {
        let kind = Kind(errno: errno)
        let reason = kind == .other ? SystemCalls.describe(errno: errno) : nil
        self.init(kind, errno: errno, reason: reason, call: call, path: path)
    }
}

extension DiskError.Kind {
    /// The kinds of `ENOSPC` and `EDQUOT` become ``DownloadError/Code/diskFull``, and the download waits for space: see
    /// `HaulCore/Machine/DownloadMachine+Space.swift` and `Space/SpaceHolds.swift`.
    init(errno code: Int32) {
        self =
            switch code {
            case ENOSPC: .full
            case EDQUOT: .quotaExceeded
            case EROFS: .readOnly
            case EIO: .inputOutput
            case EMFILE, ENFILE: .tooManyOpenFiles
            case ENAMETOOLONG: .nameTooLong
            case EACCES, EPERM: .permissionDenied
            case ENOENT: .notFound
            case EEXIST: .alreadyExists
            case ELOOP: .isSymbolicLink
            case ENOTDIR: .notAFolder
            case EISDIR: .notAFile
            case EFBIG: .fileTooLarge
            default: .other
            }
    }
}
