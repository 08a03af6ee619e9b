internal import Foundation
internal import Synchronization

/// Folders below which a path must not go through a symbolic link, so that no such path leads out of its folder.
///
/// A path below one of these folders is opened folder by folder, each relative to the descriptor of its parent. A
/// symbolic link among them is an error, even if another program puts it there between two calls or during a call. The
/// confined folder itself may be a symbolic link, and other paths are followed as usual.
package final class ConfinedFolders: Sendable {
    /// The longest path comes first, so that of two nested folders the inner one is found.
    private let paths: Mutex<[String]>

    /// - Parameter paths: absolute paths.
    package init(_ paths: [String]) {
        self.paths = Mutex([])
        add(paths)
    }

    /// Adds folders for the calls that begin from now on.
    package func add(_ added: [String]) {
        paths.withLock { $0 = Set($0 + added).sorted { $0.utf8.count > $1.utf8.count } }
    }

    /// Opens the folder that contains a path, and calls `body` with the descriptor of this folder and the last name of
    /// the path. If the path is not below one of the confined folders, calls `body` with ``SystemCalls/workingFolder``
    /// and the whole path.
    ///
    /// - Parameter call: name of the system call, for the errors.
    func within<Value>(
        _ path: String,
        call: String,
        _ body: (_ folder: Int32, _ name: String) throws(SystemCalls.Errno) -> Value
    ) throws(DiskError) -> Value {
        try opening(path) { (folder, name) throws(DiskError) in
            do throws(SystemCalls.Errno) { return try body(folder, name) } catch {
                throw DiskError(errno: error.code, call: call, path: path)
            }
        }
    }

    /// Opens the folders of two paths as ``within(_:call:_:)`` does. The errors of `body` name `target`.
    func within(
        _ path: String,
        and target: String,
        call: String,
        _ body: (_ folder: Int32, _ name: String, _ newFolder: Int32, _ newName: String) throws(SystemCalls.Errno) ->
            Void
    ) throws(DiskError) {
        try opening(path) { (folder, name) throws(DiskError) in
            try within(target, call: call) { (newFolder, newName) throws(SystemCalls.Errno) in
                try body(folder, name, newFolder, newName)
            }
        }
    }

    private func opening<Value>(
        _ path: String,
        _ body: (_ folder: Int32, _ name: String) throws(DiskError) -> Value
    ) throws(DiskError) -> Value {
        guard let (root, parts) = place(of: path), let name = parts.last else {
            return try body(SystemCalls.workingFolder, path)
        }
        let folder = try enter(parts.dropLast(), of: root)
        defer { SystemCalls.close(folder) }
        return try body(folder, name)
    }

    private func place(of path: String) -> (root: String, parts: [String])? {
        for root in paths.withLock({ $0 }) {
            if let parts = FolderWalk.parts(of: path, beneath: root), !parts.isEmpty { return (root, parts) }
        }
        return nil
    }

    /// Opens the folder to which `names` lead from `root`. The caller closes the descriptor.
    private func enter(_ names: ArraySlice<String>, of root: String) throws(DiskError) -> Int32 {
        var place = root
        do throws(SystemCalls.Errno) {
            var folder = try SystemCalls.enter(root, followsLink: true)
            for name in names {
                let parent = folder
                defer { SystemCalls.close(parent) }
                place = FilePaths.join(place, name)
                folder = try SystemCalls.enter(name, in: parent, followsLink: false)
            }
            return folder
        } catch { throw DiskError(enteringAt: place, errno: error.code) }
    }
}

extension DiskError {
    /// Maps the errno of a failure to open a folder without following symbolic links. A symbolic link becomes `ELOOP`,
    /// even if the kernel reports `ENOTDIR`.
    init(enteringAt path: String, errno: Int32) {
        var info = stat()
        let isLink = [ELOOP, ENOTDIR].contains(errno) && lstat(path, &info) == 0 && info.st_mode & S_IFMT == S_IFLNK
        self.init(errno: isLink ? ELOOP : errno, call: "openat", path: path)
    }
}
