internal import Foundation
internal import HaulKit

/// Translates system errors of a folder destination into a sentence, and tells whether waiting may help.
enum FolderFailure {
    /// Makes the error of a failed system call.
    ///
    /// - Parameters:
    ///   - call: the name of the system call.
    ///   - path: the path that the sentence names.
    static func error(_ errno: SystemCalls.Errno, _ call: String, _ path: String) -> FleetError {
        let error = sentence(errno, call, RelativePath.quoted(path))
        return [ENOSPC, EDQUOT, EMFILE, ENFILE].contains(errno.code) ? error.blamingNoFile() : error
    }

    private static func sentence(_ errno: SystemCalls.Errno, _ call: String, _ path: String) -> FleetError {
        switch errno.code {
        case ENOSPC: FleetError(.destinationUnreachable, "The disk of \(path) is full. Free some space.")
        case EDQUOT: FleetError(.destinationUnreachable, "The disk quota for \(path) is used up. Free some of it.")
        case EROFS: FleetError(.destinationRefused, "\(path) is on a read-only file system.")
        case EACCES, EPERM:
            FleetError(.destinationRefused, "Permission denied at \(path). Change its permissions or its owner.")
        case ESTALE:
            FleetError(
                .destinationUnreachable,
                "The file server no longer knows \(path) (stale file handle). Its export changed, or it was restarted."
            )
        case EIO: FleetError(.destinationUnreachable, "The disk reported an input/output error at \(path). Check it.")
        case ENAMETOOLONG: FleetError(.invalidInput, "The name of \(path) is too long for its file system.")
        case EINVAL, EILSEQ: FleetError(.invalidInput, "The file system does not allow the name \(path) (\(call)).")
        case EMLINK: FleetError(.destinationRefused, "The file system allows no more links for \(path).")
        case EXDEV:
            FleetError(
                .destinationRefused,
                "\(path) is on another file system than the root of the destination, so a finished file cannot be given its "
                    + "name there in one step. Mount it elsewhere, or use it as a destination of its own."
            )
        case EMFILE, ENFILE:
            FleetError(.destinationUnreachable, "Too many files are open (at \(path)). Raise the limit (ulimit -n).")
        default:
            FleetError(
                .destinationUnreachable,
                "\(call) failed at \(path): \(SystemCalls.describe(errno: errno.code))."
            )
        }
    }

    /// Makes the error for a path component that could not be opened as a folder. The item is to blame if something
    /// else, such as a file or a symbolic link, has the name. Otherwise another program has changed the folder
    /// meanwhile.
    static func notAFolder(_ path: String, _ kind: SystemCalls.Entry.Kind?) -> FleetError {
        let path = RelativePath.quoted(path)
        return switch kind {
        case .symbolicLink:
            FleetError(
                .invalidInput,
                "\(path) is a symbolic link. Haul follows none below the root of a destination, since a link may lead out of it."
            )
        case .folder, nil: FleetError(.destinationUnreachable, "The folder \(path) was changed by another program.")
        case .file, .other:
            FleetError(.invalidInput, "\(path) is not a folder, and a path of the list needs one.")
        }
    }
}
