/// Error of a disk call, described so that a person can act on it.
package struct DiskError: Error, Sendable, Hashable, Codable {
    /// Kinds of errors that Haul treats or describes differently.
    package enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
        case full, quotaExceeded, readOnly, inputOutput, tooManyOpenFiles, nameTooLong, permissionDenied
        case notFound, alreadyExists, isSymbolicLink, notAFolder, notAFile, fileTooLarge, replaced, cutShort, other
    }

    package let kind: Kind
    /// The call that failed, as `man 2` names it.
    package let call: String
    package let path: String
    package let errno: Int32
    /// The system's text for `errno`, for kinds that have no sentence of their own.
    package let reason: String?

    package init(_ kind: Kind, errno: Int32 = 0, reason: String? = nil, call: String, path: String) {
        self.kind = kind
        self.reason = reason
        self.call = call
        self.path = path
        self.errno = errno
    }

    /// One sentence: what happened and what the user can do about it.
    package var sentence: String {
        switch kind {
        case .full where call == "open" || call == "mkdir":
            "The disk that holds \(path) has no room for another file. Free some space or delete some files, then resume."
        case .full:
            "The disk that holds \(path) is full. Free some space, then resume: the bytes that are on the disk are kept."
        case .quotaExceeded:
            "The disk quota for \(path) is used up. Free some of it, then resume: the bytes that are on the disk are kept."
        case .readOnly:
            "\(path) is on a read-only file system. Choose another folder."
        case .inputOutput:
            "The disk reported an input/output error at \(path). Check the disk before trying again."
        case .tooManyOpenFiles:
            "Too many files are open (at \(path)). Raise the limit (ulimit -n) or run fewer downloads at once."
        case .nameTooLong:
            "The name of \(path) is too long for its file system."
        case .permissionDenied:
            "Permission denied at \(path). Choose another place, or change its permissions."
        case .notFound:
            "\(path) does not exist."
        case .alreadyExists:
            "\(path) exists already."
        case .isSymbolicLink:
            "\(path) is a symbolic link, which Haul does not write through. Remove it or choose another name."
        case .notAFolder:
            "A part of the path \(path) is not a folder."
        case .notAFile:
            "\(path) is not a regular file."
        case .fileTooLarge:
            "\(path) would be larger than its file system or the file size limit (ulimit -f) allows."
        case .replaced:
            "\(path) is no longer the file that Haul wrote: it was moved away or replaced meanwhile. "
                + "What stands there was left as it is."
        case .cutShort:
            "\(path) was cut short by another program while it was being written. It will be fetched again."
        case .other:
            "\(call) failed at \(path): \(reason ?? "error \(errno)")."
        }
    }
}
