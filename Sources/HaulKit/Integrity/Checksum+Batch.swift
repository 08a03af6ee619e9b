internal import Foundation

extension DownloadRequest.Checksum {
    /// The result of comparing a file with its checksum.
    public enum Decision: Sendable, Hashable {
        /// The file has the digest.
        case right
        /// The file has another digest.
        case wrong(actual: DownloadRequest.Checksum)
        /// The file could not be read, or the task was cancelled before the comparison was complete.
        case failed(DownloadError)
    }

    /// Compares many files with their checksums, each by its own algorithm, off the caller's actor.
    ///
    /// - Parameters:
    ///   - files: the checksum of each file, by path.
    ///   - atOnce: number of files read at the same time; less than 1 counts as 1. `nil` means the number of
    ///     processors, at most four, because more readers do not make a disk faster.
    /// - Returns: a decision for every file.
    public static func verify(_ files: [String: DownloadRequest.Checksum], atOnce: Int? = nil) async -> [String:
        Decision]
    {
        let most = max(1, atOnce ?? min(4, ProcessInfo.processInfo.activeProcessorCount))
        return await withTaskGroup(of: (String, Decision).self) { group in
            var verdicts: [String: Decision] = [:]
            verdicts.reserveCapacity(files.count)
            var running = 0
            for (path, checksum) in files.sorted(by: { $0.key < $1.key }) {
                if running == most, let (path, decision) = await group.next() {
                    verdicts[path] = decision
                    running -= 1
                }
                group.addTask { (path, await checksum.decision(on: path)) }
                running += 1
            }
            for await (path, decision) in group { verdicts[path] = decision }
            return verdicts
        }
    }

    private func decision(on path: String) async -> Decision {
        do throws(DownloadError) {
            let actual = try await Self.of(algorithm, file: path)
            return actual == self ? .right : .wrong(actual: actual)
        } catch { return .failed(error) }
    }
}
