internal import Foundation

/// Walks folders whose names a Metalink or a set chose. A symbolic link among them would lead the file out of the
/// folder that the user chose.
enum FolderWalk {
    /// Returns the names of the folders from `root` to `path`; `nil` if `path` is not below `root`.
    static func parts(of path: String, beneath root: String) -> [String]? {
        let root = root.hasSuffix("/") ? root : root + "/"
        guard path.utf8.starts(with: root.utf8) else { return path + "/" == root ? [] : nil }
        return path.utf8.dropFirst(root.utf8.count).split(separator: UInt8(ascii: "/")).compactMap { String($0) }
    }
}

extension Disk {
    /// Walks by path, for disks that cannot open a folder.
    func walk(to path: String, beneath root: String, making: Bool) throws(DiskError) {
        if making { try createFolder(root) }
        guard let parts = FolderWalk.parts(of: path, beneath: root) else {
            throw DiskError(.notFound, call: "openat", path: path)
        }
        var folder = root
        for part in parts {
            folder = FilePaths.join(folder, part)
            switch try status(folder)?.kind {
            case .folder: break
            case .symbolicLink: throw DiskError(.isSymbolicLink, call: "openat", path: folder)
            case nil where making: try createFolder(folder)
            case nil: throw DiskError(.notFound, call: "openat", path: folder)
            case .file, .other: throw DiskError(.notAFolder, call: "openat", path: folder)
            }
        }
    }
}

extension PosixDisk {
    func walk(to path: String, beneath root: String, making: Bool) throws(DiskError) {
        if making { try createFolder(root) }
        guard let parts = FolderWalk.parts(of: path, beneath: root) else {
            throw DiskError(.notFound, call: "openat", path: path)
        }
        var place = root
        var folder = try openRoot(root)
        do throws(SystemCalls.Errno) {
            defer { SystemCalls.close(folder) }
            for part in parts {
                place = FilePaths.join(place, part)
                let next = try SystemCalls.openFolder(part, in: folder, making: making ? 0o777 : nil)
                SystemCalls.close(folder)
                folder = next
            }
        } catch { throw DiskError(enteringAt: place, errno: error.code) }
    }
}
