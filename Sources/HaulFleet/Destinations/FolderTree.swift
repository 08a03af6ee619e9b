internal import Foundation
internal import HaulKit
internal import Synchronization

/// Open folders below the root of a destination, made where they are missing. Symbolic links are never followed, and what is renamed
/// above an open folder meanwhile does not matter.
///
/// For one batch, on the thread that publishes it.
final class FolderTree {
    final class Folder {
        let path: String
        let descriptor: Int32
        let parent: Folder?
        let identity: SystemCalls.Entry
        /// The name of this folder in its parent is known to be on the disk.
        let isDurable: Bool
        /// Names were added that are not synced yet.
        var hasNewNames = false
        /// Why what was added cannot be relied on.
        var failure: FleetError?

        init(
            _ path: String,
            _ descriptor: Int32,
            in parent: Folder?,
            _ identity: SystemCalls.Entry,
            isDurable: Bool
        ) {
            (self.path, self.descriptor, self.parent) = (path, descriptor, parent)
            (self.identity, self.isDurable) = (identity, isDurable)
        }

        deinit { SystemCalls.close(descriptor) }
    }

    private let root: Folder
    private let durable: DurableFolders
    private var folders: [String: Folder] = [:]
    /// Folders that could not be opened: a batch of many files asks once.
    private var failures: [String: FleetError] = [:]

    init(_ root: String, _ durable: DurableFolders) throws(FleetError) {
        do throws(SystemCalls.Errno) {
            let descriptor = try SystemCalls.openFolder(root)
            do throws(SystemCalls.Errno) {
                let identity = try SystemCalls.entry(descriptor)
                self.root = Folder("", descriptor, in: nil, identity, isDurable: true)
            } catch {
                SystemCalls.close(descriptor)
                throw error
            }
        } catch {
            throw FolderFailure.error(error, "open", root)
        }
        self.durable = durable
        guard durable.isRoot(self.root.identity) else {
            throw FleetError(
                .destinationUnreachable,
                "\(RelativePath.quoted(root)) is not the folder that it was when the worker started. Was a file system unmounted?"
            )
        }
    }

    /// Open folders beside the root.
    var count: Int { folders.count }

    /// The folder of this relative path; "" is the root.
    func folder(_ path: String) throws(FleetError) -> Folder {
        if path.isEmpty { return root }
        if let folder = folders[path] { return folder }
        if let failure = failures[path] { throw failure }
        do throws(FleetError) {
            let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
            let parent = try folder(slash.map { String(path[..<$0]) } ?? "")
            let name = slash.map { String(path[path.utf8.index(after: $0)...]) } ?? path
            let folder = try open(name, path, in: parent)
            folders[path] = folder
            return folder
        } catch {
            failures[path] = error
            throw error
        }
    }

    private func open(_ name: String, _ path: String, in parent: Folder) throws(FleetError) -> Folder {
        var descriptor: Int32
        do throws(SystemCalls.Errno) {
            descriptor = try SystemCalls.openFolder(name, in: parent.descriptor)
        } catch  where error.code == ENOENT {
            do throws(SystemCalls.Errno) {
                // Another worker may make it at the same moment.
                do throws(SystemCalls.Errno) { try SystemCalls.makeFolder(name, in: parent.descriptor) } catch {
                    if error.code != EEXIST { throw error }
                }
                descriptor = try SystemCalls.openFolder(name, in: parent.descriptor)
            } catch { throw failure(error, name, path, in: parent) }
        } catch { throw failure(error, name, path, in: parent) }
        do throws(SystemCalls.Errno) {
            let identity = try SystemCalls.entry(descriptor)
            // A folder that is there already may have been made a moment ago by a worker that has not synced it yet, or never
            // will: its name counts as new until this process has synced it once.
            let isDurable = durable.contains(path, identity)
            if !isDurable { parent.hasNewNames = true }
            return Folder(path, descriptor, in: parent, identity, isDurable: isDurable)
        } catch {
            SystemCalls.close(descriptor)
            throw FolderFailure.error(error, "fstat", path)
        }
    }

    private func failure(
        _ error: SystemCalls.Errno,
        _ name: String,
        _ path: String,
        in parent: Folder
    ) -> FleetError {
        guard error.code == ENOTDIR || error.code == ELOOP else { return FolderFailure.error(error, "open", path) }
        do throws(SystemCalls.Errno) {
            return FolderFailure.notAFolder(path, try SystemCalls.entry(name, in: parent.descriptor).kind)
        } catch {
            return FolderFailure.notAFolder(path, nil)
        }
    }

    /// Syncs each folder that has new names, and closes all but the root. Afterwards ``Folder/failure`` of each folder says whether
    /// the names in it, and those of the folders above it that were new, are on the disk.
    func sync() {
        // Above before below, so that a folder finds its parent's failure.
        let ordered = folders.values.sorted { $0.path.utf8.count < $1.path.utf8.count }
        for folder in [root] + ordered {
            if folder.hasNewNames {
                do throws(SystemCalls.Errno) {
                    try SystemCalls.syncAll(folder.descriptor)
                    folder.hasNewNames = false
                } catch {
                    folder.failure = FolderFailure.error(error, "fsync", folder.path.isEmpty ? "." : folder.path)
                }
            }
            guard !folder.isDurable, let parent = folder.parent else { continue }
            if let failure = parent.failure {
                folder.failure = folder.failure ?? failure
            } else {
                durable.insert(folder.path, folder.identity)
            }
        }
    }

    /// After ``sync()``: the outcomes have been read.
    func close() {
        folders = [:]
        failures = [:]
        root.failure = nil
    }
}

/// Folders whose names this process has synced, by path and inode, of all batches.
final class DurableFolders: Sendable {
    private struct State {
        var identities: [String: SystemCalls.Entry] = [:]
        var rootInode: UInt64?
    }
    private static let most = 1 << 16
    private let state = Mutex(State())

    /// Whether this is the root that the first call was given. Without its mount, a network folder is an empty folder of this machine.
    func isRoot(_ identity: SystemCalls.Entry) -> Bool {
        state.withLock { state in
            let rootInode = state.rootInode ?? identity.inode
            state.rootInode = rootInode
            return rootInode == identity.inode
        }
    }

    func contains(_ path: String, _ identity: SystemCalls.Entry) -> Bool {
        state.withLock { $0.identities[path]?.isSame(as: identity) ?? false }
    }

    func insert(_ path: String, _ identity: SystemCalls.Entry) {
        state.withLock { state in
            // What is forgotten is synced once more.
            if state.identities.count >= Self.most { state.identities = [:] }
            state.identities[path] = identity
        }
    }
}
