import Foundation
import Synchronization

@testable import HaulCore
@testable import HaulKit

/// The files of a store after its last synced commit, and after each later commit. A power cut may leave any of these
/// states.
final class StoreSnapshots: Sendable {
    private struct State {
        var commits: [(number: Int, files: [String: Data])] = []
        var hasEnded = false
    }
    private let state = Mutex(State())

    /// Records the state after a commit, and drops the states before a synced one. Called on the store's own thread
    /// between commits, or after a sync.
    func note(_ event: StoreEvent, of folder: String) {
        switch event {
        case .committed(let number):
            var files: [String: Data] = [:]
            for name in ["default.sqlite", "default.sqlite-wal"] {
                if let data = FileManager.default.contents(atPath: folder + "/" + name) { files[name] = data }
            }
            state.withLock { if !$0.hasEnded { $0.commits.append((number, files)) } }
        case .synced(let number):
            state.withLock { if !$0.hasEnded { $0.commits.removeAll { $0.number < number } } }
        case .failed: break
        }
    }

    /// Ignores later events. Call this method before the disk starts again: the sync of a commit that came after the power
    /// cut may end after its downloader has shut down.
    func end() { state.withLock { $0.hasEnded = true } }

    /// Writes the files of a random state into the new folder `folder`.
    ///
    /// - Returns: `false` if there is no state.
    func restore(into folder: String, choosing random: inout SplitMix64) throws -> Bool {
        let left = state.withLock(\.commits)
        guard !left.isEmpty else { return false }
        let chosen = left[Int(random.next(upperBound: UInt64(left.count)))]
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        for (name, data) in chosen.files { try data.write(to: URL(fileURLWithPath: folder + "/" + name)) }
        return true
    }
}
