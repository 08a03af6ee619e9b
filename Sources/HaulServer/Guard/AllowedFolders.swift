internal import CDispatch
internal import Foundation
internal import HTTPTypes
internal import HaulKit

/// The folders in which downloads may be saved. Resolves the symbolic links of a path before it checks the path.
package struct AllowedFolders: Sendable {
    /// Folders with their links resolved.
    package let roots: [String]
    /// Folder for a request that names no folder.
    private(set) var fallback: String

    package init(folder: String, roots: [String]) {
        var known: [String] = []
        for path in [folder] + roots {
            let real = Self.resolved(path) ?? path
            if !known.contains(real) { known.append(real) }
        }
        self.roots = known
        fallback = folder
    }

    /// Returns these folders with `folder` as ``fallback``; `nil` if `folder` is not allowed.
    ///
    /// - Parameter folder: an absolute path.
    func preferring(_ folder: String) -> AllowedFolders? {
        // Drops the error: the caller keeps the default folder, whatever the reason.
        guard folder.hasPrefix("/"), let real = try? self.folder(folder) else { return nil }
        var folders = self
        folders.fallback = real
        return folders
    }

    /// Returns the folder of a path, absolute and with its links resolved. The folder need not exist.
    ///
    /// - Parameter path: absolute, or relative to the default folder; `nil` for the default folder.
    /// - Throws: ``Problem`` if the folder is not allowed, or a part of the path is a file.
    package func folder(_ path: String?) throws(Problem) -> String {
        guard let path, !path.isEmpty else { return Self.resolved(fallback) ?? fallback }
        let real = try allowed(path)
        // Looks for a file after the check of the roots, so that the answer reveals nothing about files elsewhere.
        if let file = Self.file(in: real) {
            throw Problem(
                .unprocessableContent,
                "notAFolder",
                "\(VisibleText.line(file)) is a file, and no folder can be in its place or below it.",
                suggestion: "Choose another folder."
            )
        }
        return real
    }

    /// Returns the path of a folder or a file below a root, absolute and with its links resolved. The folder or file
    /// need not exist.
    ///
    /// - Parameter path: absolute, or relative to the default folder.
    /// - Throws: ``Problem`` if the path is not below a root, or is in the state folder of a set.
    func allowed(_ path: String) throws(Problem) -> String {
        guard !path.utf8.contains(0), path.utf8.count < 4096 else { throw refused(path) }
        let parts = path.split(separator: "/").filter { $0 != "." }
        // Refuses every `..`, not only those that lead out of a root: if "a" is a link, "a/.." may be another folder.
        guard !parts.contains(".."), !path.hasPrefix("~") else { throw refused(path) }
        let plain = parts.joined(separator: "/")
        let absolute = path.hasPrefix("/") ? "/" + plain : plain.isEmpty ? fallback : fallback + "/" + plain
        guard let real = Self.resolved(absolute), let root = roots.first(where: { Self.isInside(real, $0) }) else {
            throw refused(path)
        }
        guard !real.dropFirst(root.count).split(separator: "/").contains(where: PlacedSet.isStateFolder) else {
            throw Problem(
                .forbidden,
                "forbiddenFolder",
                "The folder \(PlacedSet.stateFolder) keeps the state of a set.",
                suggestion: "Choose another folder."
            )
        }
        return real
    }

    /// Returns the deepest existing part of a resolved path if it is no folder; otherwise `nil`.
    private static func file(in real: String) -> String? {
        var existing = real
        var info = stat()
        while lstat(existing, &info) != 0 {
            // Ends before `/`, which is always a folder.
            guard let slash = existing.lastIndex(of: "/"), slash != existing.startIndex else { return nil }
            existing = String(existing[..<slash])
        }
        return info.st_mode & S_IFMT == S_IFDIR ? nil : existing
    }

    private func refused(_ path: String) -> Problem {
        Problem(
            .forbidden,
            "forbiddenFolder",
            "Files may not be saved in \(HostCheck.printable(path)).",
            suggestion:
                "Choose a folder below \(roots.joined(separator: " or ")), or name another one with haul serve --root."
        )
    }

    static func isInside(_ path: String, _ root: String) -> Bool {
        path == root || path.hasPrefix(root == "/" ? "/" : root + "/")
    }

    /// Returns the path with the links of its deepest existing part resolved; `nil` if that part cannot be read.
    static func resolved(_ path: String) -> String? {
        var existing = path
        var missing: [Substring] = []
        while true {
            // Removes the last slash, because `lstat` follows a link before a slash and would not see a dangling one.
            while existing.count > 1, existing.hasSuffix("/") { existing.removeLast() }
            if let real = realpath(existing, nil) {
                defer { free(real) }
                let base = String(cString: real)
                let rest = missing.reversed().joined(separator: "/")
                return rest.isEmpty ? base : base == "/" ? "/" + rest : base + "/" + rest
            }
            // Refuses a dangling link, because a file created through it would be elsewhere. ENOTDIR means that a part
            // of the path is a file.
            var info = stat()
            guard errno == ENOENT || errno == ENOTDIR, lstat(existing, &info) != 0 else { return nil }
            guard let slash = existing.lastIndex(of: "/") else { return nil }
            missing.append(existing[existing.index(after: slash)...])
            existing = slash == existing.startIndex ? "/" : String(existing[..<slash])
        }
    }
}

extension ServerConfiguration {
    /// The folders in which downloads may be saved when the server starts with this configuration.
    package var allowedFolders: AllowedFolders { AllowedFolders(folder: folder, roots: roots) }
}
