internal import Foundation
internal import HaulKit

/// An empty file that the first worker makes at a destination. The queue keeps the name of the file. A folder without
/// the file is not the destination of the queue, for example because its file system is not mounted.
enum DestinationMark {
    /// Stores `name` as the mark of the queue unless the queue has a mark. Returns the mark of the queue.
    typealias Keep = (_ name: String) async throws(FleetError) -> String

    /// Checks that the folder has the mark of the queue. Makes the mark if the queue has none.
    ///
    /// - Parameters:
    ///   - root: path of the folder. A folder that cannot be opened passes; ``FolderProbe`` reports the reason.
    ///   - known: the mark of the queue; `nil` if there is none yet.
    /// - Throws: ``FleetError/Code/destinationRefused`` if the folder lacks the mark.
    static func check(_ root: String, known: String?, keep: Keep) async throws(FleetError) {
        guard await BlockingExecutor.system.run({ SystemCalls.isFolder(root) }) else { return }
        if let known { return try await require(known, root) }
        let name = String(UInt64.random(in: .min ... .max), radix: 36)
        // The file is made before the queue stores its name, so that a stored name always has a file.
        try await BlockingExecutor.system.run { () throws(FleetError) in try make(name, root) }
        let kept = try await keep(name)
        guard kept != name else { return }
        // Another worker stored its name first.
        await BlockingExecutor.system.run { remove(name, root) }
        try await require(kept, root)
    }

    private static func require(_ name: String, _ root: String) async throws(FleetError) {
        guard isName(name) else {
            throw FleetError(.databaseRefused, "The queue has a mark of its destination that is no name of a file.")
        }
        guard try await BlockingExecutor.system.run({ () throws(FleetError) in try exists(name, root) }) else {
            let path = FilePaths.join(FilePaths.join(root, RelativePath.reserved), fileName(name))
            throw FleetError(
                .destinationRefused,
                "\(RelativePath.quoted(root)) is not the folder that the files of this queue went to until now. Is its file "
                    + "system mounted? If files are to go there from now on, make the file \(RelativePath.quoted(path))."
            )
        }
    }

    private static func fileName(_ name: String) -> String { "mark-\(name)" }

    private static func isName(_ name: String) -> Bool {
        (1...32).contains(name.utf8.count)
            && name.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) }
    }

    // MARK: Files

    private static func exists(_ name: String, _ root: String) throws(FleetError) -> Bool {
        do throws(SystemCalls.Errno) {
            let folder = try open(root, makes: false)
            defer { SystemCalls.close(folder) }
            return try SystemCalls.entry(fileName(name), in: folder).kind == .file
        } catch  where error.code == ENOENT {
            return false
        } catch { throw failure(error, root) }
    }

    private static func make(_ name: String, _ root: String) throws(FleetError) {
        do throws(SystemCalls.Errno) {
            let folder = try open(root, makes: true)
            defer { SystemCalls.close(folder) }
            SystemCalls.close(try SystemCalls.createFile(fileName(name), in: folder))
            try SystemCalls.syncAll(folder)
        } catch { throw failure(error, root) }
    }

    private static func remove(_ name: String, _ root: String) {
        do throws(SystemCalls.Errno) {
            let folder = try open(root, makes: false)
            defer { SystemCalls.close(folder) }
            try SystemCalls.removeFile(fileName(name), in: folder)
        } catch {
            // An empty file remains. No queue names it, so it has no effect.
        }
    }

    private static func failure(_ error: SystemCalls.Errno, _ root: String) -> FleetError {
        let path = FilePaths.join(root, RelativePath.reserved)
        guard error.code == ENOTDIR || error.code == ELOOP else { return FolderFailure.error(error, "open", path) }
        return FleetError(
            .destinationRefused,
            "\(RelativePath.quoted(path)) is not a folder, and Haul follows no symbolic link there. Remove it."
        )
    }

    /// Opens the reserved folder below the root.
    private static func open(_ root: String, makes: Bool) throws(SystemCalls.Errno) -> Int32 {
        let rootFolder = try SystemCalls.openFolder(root)
        defer { SystemCalls.close(rootFolder) }
        if makes { return try FolderProbe.ensure(RelativePath.reserved, in: rootFolder) }
        return try SystemCalls.openFolder(RelativePath.reserved, in: rootFolder)
    }
}
