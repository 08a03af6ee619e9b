import Foundation
import Synchronization

@testable import HaulCore
@testable import HaulKit

/// The files of a store after its last commit that the disk surely has, and after each one since: any of them may be what a
/// power cut leaves.
final class StoreSnapshots: Sendable {
    private let commits = Mutex<[(number: Int, files: [String: Data])]>([])

    /// Called between commits, on the store's own thread, or when it has synced them.
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

    /// Lays one of them into a new folder.
    ///
    /// - Returns: false when there is none.
    func restore(into folder: String, choosing random: inout SplitMix64) throws -> Bool {
        let left = commits.withLock(\.self)
        guard !left.isEmpty else { return false }
        let chosen = left[Int(random.next(upperBound: UInt64(left.count)))]
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        for (name, data) in chosen.files { try data.write(to: URL(fileURLWithPath: folder + "/" + name)) }
        return true
    }
}
