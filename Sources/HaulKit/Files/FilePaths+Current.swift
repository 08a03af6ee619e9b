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

    /// Expands a path as people write it: `~` as its first part is the home folder, and a `file:` URL is the path of
    /// its file. Other paths stay as they are: `./~` is a file of that name.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/invalidDestination`` for a `file:` URL of another
    ///   machine.
    static func expanded(_ path: String, home: () -> String = { HomeFolder.path() }) throws(DownloadError) -> String {
        if path == "~" { return home() }
        if path.hasPrefix("~/") { return join(home(), String(path.dropFirst(2))) }
        guard path.prefix(7).lowercased() == "file://" else { return path }
        let rest = path.dropFirst(7)
        let slash = rest.firstIndex(of: "/") ?? rest.endIndex
        let host = rest[..<slash].lowercased()
        let name = URL(string: path)?.path(percentEncoded: false) ?? ""
        guard host.isEmpty || host == "localhost", name.utf8.first == UInt8(ascii: "/"), !name.utf8.contains(0) else {
            throw DownloadError(
                .invalidDestination,
                "\(path) is no path of a file on this machine. Write a path, or a URL that begins with file:///."
            )
        }
        return name
    }
}
