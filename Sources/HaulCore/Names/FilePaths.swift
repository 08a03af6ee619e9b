internal import Foundation

/// Operations on paths as plain strings, which keep the bytes of all names.
package enum FilePaths {
    /// The folder part: `/a/b` → `/a`, `/a` → `/`, `a` → `.`.
    package static func folder(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// The last component: `/a/b` → `b`.
    package static func name(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return path }
        return String(path[path.utf8.index(after: slash)...])
    }

    package static func join(_ folder: String, _ name: String) -> String {
        folder.hasSuffix("/") ? folder + name : folder + "/" + name
    }

    /// Whether the last component of a path can be the name of a file: not empty, `.` or `..`.
    package static func isNameOfFile(_ path: String) -> Bool { !["", ".", ".."].contains(name(of: path)) }

    /// Whether a path begins at the root and no part of it is empty, `.` or `..`.
    package static func isAbsoluteAndPlain(_ path: String) -> Bool {
        guard path.utf8.first == UInt8(ascii: "/"), path.utf8.count > 1 else { return false }
        return path.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).allSatisfy {
            switch $0.count {
            case 0: false
            case 1, 2: !$0.allSatisfy { $0 == UInt8(ascii: ".") }
            default: true
            }
        }
    }

    /// Returns an absolute path without `.`, `..` and empty parts. A `..` removes the part before it, also if that part
    /// is a symbolic link. Does not expand `~`, see ``expanded(_:home:)``.
    ///
    /// - Parameter folder: folder in which a relative path begins.
    package static func absolute(_ path: String, from folder: String) -> String {
        let isAbsolute = path.utf8.first == UInt8(ascii: "/")
        var parts: [Substring.UTF8View.SubSequence] = []
        for part in (isAbsolute ? path : join(folder, path)).utf8.split(separator: UInt8(ascii: "/")) {
            if part.elementsEqual(".".utf8) { continue }
            if part.elementsEqual("..".utf8) { parts = parts.dropLast() } else { parts.append(part) }
        }
        return "/" + parts.map { String(Substring($0)) }.joined(separator: "/")
    }

    /// Expands a path as people write it: `~` as its first part is the home folder, and a `file:` URL is the path of
    /// its file. Other paths stay as they are: `./~` is a file of that name.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/invalidDestination`` for a `file:` URL of another
    ///   machine.
    package static func expanded(_ path: String, home: () -> String) throws(DownloadError) -> String {
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

    /// Returns the path of the partial file for a final path.
    package static func part(of path: String) -> String { path + partSuffix }

    /// Whether a path could be that of a partial file. Ignores letter case, as some file systems do.
    package static func isPart(_ path: String) -> Bool { path.lowercased().hasSuffix(partSuffix) }

    /// Suffix of partial files. No finished file may have it.
    package static let partSuffix = ".haulpart"

    /// Returns the error for a finished file with the name of a partial one.
    package static func isNameOfPart(_ name: String) -> DownloadError {
        DownloadError(
            .invalidDestination,
            "A file cannot be called \(name): the ending \(partSuffix) is that of files "
                + "which are not complete, and another download may have one of this name. Choose another name."
        )
    }
}
