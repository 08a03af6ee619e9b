internal import Synchronization

/// Makes the files of a batch durable together. Syncs their file system if that costs less than a sync of each file.
final class SmallFileSync: Sendable {
    /// Time until which files are synced one by one, after a slow sync of the file system. Such a sync waits for the
    /// writes of all processes.
    private let restsUntil = Mutex(ContinuousClock.now)
    private static let tooLong = Duration.seconds(1)
    private static let rest = Duration.seconds(30)
    /// Fewer files are synced one by one.
    private static let leastFiles = 4

    func sync(_ files: [any DiskFile]) -> [DiskError?] {
        let known = files.compactMap { $0 as? PosixFile }
        if files.count >= Self.leastFiles, known.count == files.count, syncFileSystem(known) {
            return files.map { _ in nil }
        }
        // Starts the writes of all files before the first wait, so that a journal commits only once.
        for file in known { SystemCalls.startWriting(file.descriptor) }
        return files.map { file in
            do throws(DiskError) { try file.sync() } catch { return error }
            return nil
        }
    }

    /// - Returns: `false` if each file has to be synced: for some time after a slow sync of the file system, if the
    ///   files are on several file systems, if the sync of the file system is not reliable there, or after an error
    ///   that may concern any of the files.
    private func syncFileSystem(_ files: [PosixFile]) -> Bool {
        guard let first = files.first, restsUntil.withLock({ $0 <= .now }) else { return false }
        do {
            let device = try SystemCalls.device(first.descriptor)
            guard try files.allSatisfy({ try SystemCalls.device($0.descriptor) == device }) else { return false }
            let start = ContinuousClock.now
            guard try SystemCalls.syncFileSystem(first.descriptor) else { return false }
            let now = ContinuousClock.now
            if now - start > Self.tooLong { restsUntil.withLock { $0 = now + Self.rest } }
            return true
        } catch {
            // The error may come from another program's file, so each file is synced by itself.
            return false
        }
    }
}
