internal import Foundation

extension FilePaths {
    /// Returns the absolute path. A relative path begins in the current folder.
    ///
    /// - Throws: for a relative path, as ``currentFolder(for:)``.
    package static func absolute(_ path: String) throws(DownloadError) -> String {
        if path.utf8.first == UInt8(ascii: "/") { return absolute(path, from: "/") }
        return absolute(path, from: try currentFolder(for: path))
    }

    /// Returns the current folder, in which a relative path begins.
    ///
    /// - Parameter path: path that the error message names.
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/diskFailed`` if the current folder was removed or
    ///   lies below a folder that may not be read, and ``DownloadError/Code/invalidDestination`` if its path is not
    ///   UTF-8.
    package static func currentFolder(for path: String = "") throws(DownloadError) -> String {
        let bytes = SystemCalls.currentFolder()
        guard bytes.first == UInt8(ascii: "/") else {
            throw DownloadError(
                .diskFailed,
                "The current folder, in which \(path.isEmpty ? "a relative path" : path) would begin, no longer exists "
                    + "or cannot be read. Choose an existing folder."
            )
        }
        guard let folder = PathText.text(bytes) else { throw PathText.refusal("The current folder", bytes) }
        return folder
    }

    /// Expands a path with the home folder of the user, as ``expanded(_:home:)``.
    static func expanded(_ path: String) throws(DownloadError) -> String {
        try expanded(path, home: { HomeFolder.path() })
    }
}
