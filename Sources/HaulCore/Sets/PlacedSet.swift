internal import Foundation

/// A set whose names were made safe, so that each file has a path of its own below the folder.
package struct PlacedSet: Sendable, Hashable {
    package struct File: Sendable, Hashable {
        package let file: FileSet.File
        /// The relative path below the folder. Each part is safe to create.
        package let path: String
    }

    /// The files that may be fetched, in the order of the set.
    package let files: [File]
    /// The selected names that are not fetched, in the order of the set.
    package let refused: [RefusedName]

    /// Whether every selected name has a path.
    package var isWhole: Bool { refused.isEmpty }

    /// Whether a file of a set can have this path below the folder.
    package static func isPath(_ path: String) -> Bool {
        FileSet.reason(against: path) == nil && FileName.safePath(path, keepsLeadingDots: true) == path
    }

    /// Name of the folder that keeps the state of a set, below the folder of the set.
    package static let stateFolder = ".haul"

    /// Whether a name is that of the state folder. Ignores letter case, as some file systems do.
    package static func isStateFolder(_ name: some StringProtocol) -> Bool { name.lowercased() == stateFolder }
}

extension FileSet {
    /// Returns the selected files with safe paths. Refuses a name that cannot be made safe, and all names that need the
    /// same path. The other files may be fetched. A folder that was refused stays refused, unless `except` leaves it
    /// out.
    ///
    /// - Parameters:
    ///   - select: patterns of the wanted names; with none, every name is wanted.
    ///   - except: patterns of names that are not wanted.
    /// - Throws: ``DownloadError/Code/invalidSet`` for more than ``maximumNames``.
    package func placed(
        select: [PathPattern] = [],
        except: [PathPattern] = []
    ) throws(DownloadError) -> PlacedSet {
        guard files.count + refused.count <= Self.maximumNames else {
            throw .invalidSet("it has more than \(Self.maximumNames) names")
        }
        func isWanted(_ name: String) -> Bool {
            guard !(select.isEmpty && except.isEmpty) else { return true }
            let path = PathPattern.Path(name)
            return (select.isEmpty || select.contains { $0.matches(path) }) && !except.contains { $0.matches(path) }
        }
        func isWantedRefusal(_ name: String) -> Bool {
            guard name.hasSuffix("/") else { return isWanted(name) }
            // A folder that was not entered may contain any name. A zero byte stands for such a name, because no name
            // contains one.
            let path = PathPattern.Path(name + "\0")
            return !except.contains { $0.matches(path) }
        }
        let wanted = files.filter { isWanted($0.name) }
        var paths: [String?] = []
        var reasons: [Int: String] = [:]
        for (index, file) in wanted.enumerated() {
            let path = FileName.safePath(file.name, keepsLeadingDots: true)
            // Checks the safe path too, because making a name safe may turn it into one of Haul's own names.
            let reason = Self.reason(against: file.name) ?? path.flatMap(Self.reason)
            paths.append(reason == nil ? path : nil)
            if path == nil || reason != nil { reasons[index] = reason ?? Self.unsafe(file.name) }
        }
        Self.addCollisions(of: paths, named: wanted.map(\.name), to: &reasons)
        var placed: [PlacedSet.File] = []
        var left = refused.filter { isWantedRefusal($0.name) }
        for (index, file) in wanted.enumerated() {
            if let reason = reasons[index] {
                left.append(RefusedName(file.name, reason))
            } else if let path = paths[index] {
                placed.append(PlacedSet.File(file: file, path: path))
            }
        }
        return PlacedSet(files: placed, refused: left)
    }

    private static func shown(_ name: String) -> String { "\u{201C}\(URL.cut(name))\u{201D}" }

    private static func unsafe(_ name: String) -> String {
        "\(shown(name)) is no name for a file below the folder."
    }

    /// Returns a sentence about a name that belongs to the files of Haul; `nil` for any other name.
    fileprivate static func reason(against name: String) -> String? {
        let first = name.utf8.prefix { $0 != UInt8(ascii: "/") }
        if PlacedSet.isStateFolder(Substring(first)) {
            return "\(shown(name)) is in the folder \(PlacedSet.stateFolder), which keeps the state of a set."
        }
        guard FilePaths.isPart(name) else { return nil }
        return "\(shown(name)) ends in \(FilePaths.partSuffix), as files do that are not complete."
    }

    /// Adds a sentence for each file whose path is also that of another file, is the folder of another file, or lies
    /// below another file.
    ///
    /// Sorts the paths with the slash before every other byte, so that everything below a path follows it directly.
    private static func addCollisions(of paths: [String?], named names: [String], to reasons: inout [Int: String]) {
        let sorted = paths.indices
            .compactMap { index in paths[index].map { (index: index, key: key($0)) } }
            .sorted { $0.key.lexicographicallyPrecedes($1.key) }
        var start = 0
        while start < sorted.count {
            let first = sorted[start]
            var end = start + 1
            while end < sorted.count, sorted[end].key == first.key { end += 1 }
            let sameEnd = end
            while end < sorted.count, sorted[end].key.starts(with: first.key),
                sorted[end].key[first.key.count] == slash
            {
                end += 1
            }
            if sameEnd > start + 1 {
                for position in start..<sameEnd {
                    let other = names[sorted[position == start ? start + 1 : start].index]
                    let name = names[sorted[position].index]
                    reasons[sorted[position].index] =
                        "\(shown(name)) and \(shown(other)) need the same path \(paths[first.index] ?? "")."
                }
            }
            if end > sameEnd {
                let folder = names[first.index]
                for position in start..<sameEnd where reasons[sorted[position].index] == nil {
                    reasons[sorted[position].index] =
                        "\(shown(names[sorted[position].index])) is a file, and the folder of "
                        + "\(shown(names[sorted[sameEnd].index]))."
                }
                for position in sameEnd..<end {
                    reasons[sorted[position].index] =
                        "\(shown(names[sorted[position].index])) is below \(shown(folder)), which is a file."
                }
            }
            start = end
        }
    }

    /// A zero byte in place of each slash. It sorts before every byte of a name, because a safe path has no control
    /// characters.
    private static let slash: UInt8 = 0

    /// Returns the bytes of the path in one Unicode normalization, because some file systems know only one.
    private static func key(_ path: String) -> [UInt8] {
        let isASCII = path.utf8.allSatisfy { $0 < 0x80 }
        let text = isASCII ? path : path.precomposedStringWithCanonicalMapping
        return text.utf8.map { $0 == UInt8(ascii: "/") ? slash : $0 }
    }
}
