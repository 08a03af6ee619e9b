import Foundation
import Synchronization

@testable import HaulCore
@testable import HaulKit

/// The files of a store after its last synced commit, and after each later commit. A power cut may leave any of these
/// states.
final class StoreSnapshots: Sendable {
    private let commits = Mutex<[(number: Int, files: [String: Data])]>([])

    /// Records the state after a commit, and drops the states before a synced one. Called on the store's own thread
    /// between commits, or after a sync.
    func note(_ event: StoreEvent, of folder: String) {
        switch event {
        case .committed(let number):
            var files: [String: Data] = [:]
            for name in ["default.sqlite", "default.sqlite-wal"] {
                if let data = FileManager.default.contents(atPath: folder + "/" + name) { files[name] = data }
            }
            commits.withLock { $0.append((number, files)) }
        case .synced(let number): commits.withLock { $0.removeAll { $0.number < number } }
        case .failed: break
        }
    }

    /// Writes the files of a random state into the new folder `folder`.
    ///
    /// - Returns: `false` if there is no state.
    func restore(into folder: String, choosing random: inout SplitMix64) throws -> Bool {
        let left = commits.withLock(\.self)
        guard !left.isEmpty else { return false }
        let chosen = left[Int(random.next(upperBound: UInt64(left.count)))]
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        for (name, data) in chosen.files { try data.write(to: URL(fileURLWithPath: folder + "/" + name)) }
        return true
    }
}
