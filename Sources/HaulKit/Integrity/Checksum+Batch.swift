internal import Foundation

extension Checksum {
    /// What came of comparing one file with its digest.
    public enum Decision: Sendable, Hashable {
        case right
        case wrong(actual: Checksum)
        /// It could not be read, or the task was cancelled before its turn.
        case failed(DownloadError)
    }

    /// Compares many files with their digests, each by its own algorithm.
    ///
    /// - Parameters:
    ///   - files: what each must be, by path.
    ///   - atOnce: files that are read at the same time; nil for as many as the machine has processors, but no more than four:
    ///     disks do not get faster by being asked for more.
    /// - Returns: a verdict for every file.
    public static func verify(_ files: [String: Checksum], atOnce: Int? = nil) async -> [String: Decision] {
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
