internal import CDispatch
internal import Foundation
internal import HTTPTypes

/// The folders that downloads may be saved in. A path is judged by where it really leads: links in it are resolved first.
package struct AllowedFolders: Sendable {
    /// Folders with their links resolved.
    package let roots: [String]
    /// For a request that names none.
    let fallback: String

    package init(folder: String, roots: [String]) {
        var known: [String] = []
        for path in [folder] + roots {
            let real = Self.resolved(path) ?? path
            if !known.contains(real) { known.append(real) }
        }
        self.roots = known
        fallback = folder
    }

    /// The folder that a path names, absolute and with its links resolved; it need not exist.
    ///
    /// - Parameter path: absolute, or relative to the default folder.
    package func folder(_ path: String?) throws(Problem) -> String {
        guard let path, !path.isEmpty else { return Self.resolved(fallback) ?? fallback }
        guard !path.utf8.contains(0), path.utf8.count < 4096 else { throw refused(path) }
        let parts = path.split(separator: "/")
        // Not only those that lead out: with links, "a/.." need not be where "a" is.
        guard !parts.contains(".."), !parts.contains("."), !path.hasPrefix("~") else { throw refused(path) }
        let absolute = path.hasPrefix("/") ? path : fallback + "/" + path
        guard let real = Self.resolved(absolute), roots.contains(where: { Self.isInside(real, $0) }) else {
            throw refused(path)
        }
        return real
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

    /// The path with the links of its deepest existing part resolved; nil where that part cannot be looked at.
    static func resolved(_ path: String) -> String? {
        var existing = path
        var missing: [Substring] = []
        while true {
            if let real = realpath(existing, nil) {
                defer { free(real) }
                let base = String(cString: real)
                let rest = missing.reversed().joined(separator: "/")
                return rest.isEmpty ? base : base == "/" ? "/" + rest : base + "/" + rest
            }
            // A link that leads nowhere exists, and what is made through it would be elsewhere.
            var info = stat()
            guard errno == ENOENT, lstat(existing, &info) != 0 else { return nil }
            while existing.count > 1, existing.hasSuffix("/") { existing.removeLast() }
            guard let slash = existing.lastIndex(of: "/") else { return nil }
            missing.append(existing[existing.index(after: slash)...])
            existing = slash == existing.startIndex ? "/" : String(existing[..<slash])
        }
    }
}
