internal import Synchronization

/// Makes the files of a batch durable at once, by a sync of their file system where that is to be had for less than a sync of each.
final class SmallFileSync: Sendable {
    /// A sync of the file system waits for what all processes have written. After one that took long, files are synced one by
    /// one until then.
    private let restsUntil = Mutex(ContinuousClock.now)
    private static let tooLong = Duration.seconds(1)
    private static let rest = Duration.seconds(30)
    /// With fewer, each is synced on its own.
    private static let leastFiles = 4

    func sync(_ files: [any DiskFile]) -> [DiskError?] {
        let known = files.compactMap { $0 as? PosixFile }
        if files.count >= Self.leastFiles, known.count == files.count, syncFileSystem(known) {
            return files.map { _ in nil }
        }
        // All are on their way before the first is waited for: a journal then commits once.
        for file in known { SystemCalls.startWriting(file.descriptor) }
        return files.map { file in
            do throws(DiskError) { try file.sync() } catch { return error }
            return nil
        }
    }

    /// - Returns: false when each file has to be synced: the file systems are several, or of a kind that promises nothing, or
    ///   something went wrong that each file must be asked for.
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
            // Another program's file may have failed: each file is asked for itself.
            return false
        }
    }
}
