internal import Foundation
internal import HaulKit

/// The existing entry under the final name of a file.
struct ExistingFile {
    private let name: String
    private let folder: FolderTree.Folder

    init(_ name: String, in folder: FolderTree.Folder) {
        (self.name, self.folder) = (name, folder)
    }

    /// Compares the existing entry with `file`. Syncs an existing file with the same bytes unless it is the staged file
    /// itself.
    ///
    /// - Parameter staged: the staged file; `nil` if it is gone.
    /// - Returns: a sentence about the difference; `nil` for the same file or a file with the same bytes.
    /// - Throws: ``FleetError`` if the existing entry cannot be read.
    func conflict(with file: StagedFile, staged: SystemCalls.Entry?) throws(FleetError) -> String? {
        let path = RelativePath.quoted(file.path)
        do throws(SystemCalls.Errno) {
            let entry = try SystemCalls.entry(name, in: folder.descriptor)
            switch entry.kind {
            case .folder: return "\(path) is a folder."
            case .symbolicLink: return "\(path) is a symbolic link, which was left as it is."
            case .other: return "\(path) is not a regular file, and was left as it is."
            case .file: break
            }
            if let staged, staged.isSame(as: entry) { return nil }
            guard entry.size == file.bytes else { return differs(path, file, "\(entry.size) bytes") }
            let descriptor = try SystemCalls.openFile(name, in: folder.descriptor)
            defer { SystemCalls.close(descriptor) }
            let (digest, bytes) = try FileHash.sha256(descriptor)
            guard digest == file.sha256, bytes == file.bytes else {
                return differs(path, file, "\(bytes) bytes with SHA-256 \(digest.hexadecimal)")
            }
            // Syncs the file, because another program may have written it without a sync.
            try SystemCalls.syncAll(descriptor)
            return nil
        } catch  where error.code == ENOENT {
            guard staged == nil else {
                throw FleetError(.destinationUnreachable, "\(path) was removed while it was being published.")
            }
            throw FleetError(.disk, "The staged file \(file.stagedPath) is gone, and \(path) does not exist.")
        } catch {
            throw FolderFailure.error(error, "read", file.path)
        }
    }

    private func differs(_ path: String, _ file: StagedFile, _ existing: String) -> String {
        "\(path) exists with \(existing), and was left as it is. The downloaded file has \(file.bytes) bytes with SHA-256 "
            + "\(file.sha256.hexadecimal)."
    }
}
