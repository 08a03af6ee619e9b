internal import Foundation
internal import HaulKit
internal import Synchronization

/// Opens folders below the root of a destination and makes missing ones. Never follows symbolic links. The rename of a
/// parent folder does not affect an open folder.
///
/// A tree serves one batch, on the thread that publishes the batch.
final class FolderTree {
    final class Folder {
        let path: String
        let descriptor: Int32
        let parent: Folder?
        let identity: SystemCalls.Entry
        /// Whether the name of this folder in its parent is known to be on the disk.
        let isDurable: Bool
        /// Whether the folder has new names that are not synced yet.
        var hasNewNames = false
        /// Reason why new names in the folder may not be on the disk; `nil` if ``FolderTree/sync()`` found none.
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
    /// Errors of folders that could not be opened. Until ``close()``, each of these folders is tried only once.
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

    /// Number of open folders without the root.
    var count: Int { folders.count }

    /// Returns the folder at a relative path; "" is the root.
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
                // Another worker may make the folder at the same time.
                do throws(SystemCalls.Errno) { try SystemCalls.makeFolder(name, in: parent.descriptor) } catch {
                    if error.code != EEXIST { throw error }
                }
                descriptor = try SystemCalls.openFolder(name, in: parent.descriptor)
            } catch { throw failure(error, name, path, in: parent) }
        } catch { throw failure(error, name, path, in: parent) }
        do throws(SystemCalls.Errno) {
            let identity = try SystemCalls.entry(descriptor)
            // An existing folder may be from a worker that has not synced it yet or never will. Its name therefore
            // counts as new until this process has synced it once.
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

    /// Syncs each folder with new names. Afterwards ``Folder/failure`` of a folder tells whether its new names, and
    /// those of the folders above it, are on the disk.
    func sync() {
        // Parents come first, so that a folder finds its parent's failure.
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

    /// Closes all folders except the root. Called after ``sync()``, when the outcomes have been read.
    func close() {
        folders = [:]
        failures = [:]
        root.failure = nil
    }
}

/// Remembers the folders whose names this process has synced in any batch, by path and inode.
final class DurableFolders: Sendable {
    private struct State {
        var identities: [String: SystemCalls.Entry] = [:]
        var rootInode: UInt64?
    }
    private static let most = 1 << 16
    private let state = Mutex(State())

    /// Whether the root, which has `identity` now, still has the inode of the first call. The inode differs if a
    /// network file system was unmounted, because the path then leads to an empty folder of this machine.
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
            // Forgets all folders at the limit. Each forgotten folder is only synced once more.
            if state.identities.count >= Self.most { state.identities = [:] }
            state.identities[path] = identity
        }
    }
}
