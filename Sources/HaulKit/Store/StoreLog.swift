internal import Foundation
internal import Synchronization

/// The log that the commits of a store are in until SQLite copies them into the database: the file `-wal` beside it.
///
/// In NORMAL mode SQLite writes a commit to its log without waiting for the disk, and syncs the log only before it copies it
/// (https://sqlite.org/pragma.html#pragma_synchronous). A sync of the log makes every commit before it durable: those that are
/// no longer in the log are in the database, which SQLite syncs before it uses the log again.
final class StoreLog: Sendable {
    private let folder: String
    private let file: PosixFile
    private let hasName = Atomic<Bool>(false)

    /// - Parameter path: the database's, open already. SQLite removes the log only when the last connection is closed.
    init(ofDatabaseAt path: String) throws(DiskError) {
        folder = FilePaths.folder(of: path)
        // Its locks are those of the database: closing the log gives up none.
        file = try PosixFile(path + "-wal", flags: O_RDONLY)
    }

    /// Returns when the disk has every commit that returned before the call.
    func sync() throws(DiskError) {
        try file.sync()
        guard !hasName.load(ordering: .relaxed) else { return }
        try PosixDisk().syncFolder(folder)
        hasName.store(true, ordering: .relaxed)
    }
}
