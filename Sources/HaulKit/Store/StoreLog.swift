internal import Foundation
internal import Synchronization

/// Write-ahead log of a store: the file `-wal` beside the database. It holds the commits until SQLite copies them into
/// the database.
///
/// In NORMAL mode SQLite writes a commit to the log without waiting for the disk, and syncs the log only before copying
/// it (https://sqlite.org/pragma.html#pragma_synchronous). A sync of the log makes every earlier commit durable.
/// Commits that are no longer in the log are in the database, which SQLite syncs before it uses the log again.
final class StoreLog: Sendable {
    private let folder: String
    private let file: PosixFile
    private let hasName = Atomic<Bool>(false)

    /// - Parameter path: path of a database that stays open while this value is used, so that its log exists: SQLite
    ///   removes the log when the last connection closes.
    init(ofDatabaseAt path: String) throws(DiskError) {
        folder = FilePaths.folder(of: path)
        // SQLite locks the database, not the log, so closing the log releases no lock.
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
