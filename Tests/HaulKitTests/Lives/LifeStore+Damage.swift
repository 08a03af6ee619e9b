import Foundation
import GRDB

@testable import HaulCore
@testable import HaulKit

/// Damages the store while no process has it open. The next process opens the readable rest.
extension LifeStore {
    enum Damage: CaseIterable, Sendable {
        case zeroedPage, randomPage, repeatedPage, flippedBytes, flippedHeader, cut
    }

    /// The result of opening a damaged store.
    struct Opened: Sendable {
        /// Whether the damaged store was set aside and its rows copied into a new one.
        var isSalvaged: Bool
        /// Number of downloads whose rows are lost.
        var lost: Int
        /// Number of downloads that were complete before and are not now.
        var doubted: Int
    }

    /// Damages the file of the store, opens it as a process does, and continues with the rows that are left.
    ///
    /// - Parameter random: chooses the damage.
    func damage(_ damage: Damage, _ random: inout SplitMix64) throws -> Opened {
        let manager = FileManager.default
        let folder = manager.temporaryDirectory.appendingPathComponent("haul-life-\(UUID().uuidString)").path
        try manager.createDirectory(atPath: folder, withIntermediateDirectories: true)
        // A folder that cannot be removed is no failure of the life.
        defer { try? manager.removeItem(atPath: folder) }
        let path = folder + "/n.sqlite"
        try write(to: path)
        var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        bytes.damage(damage, &random)
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        let before = try saved().map(\.record)
        let opening = StoreOpening(
            path: path,
            bootID: "",
            contention: StoreContention(),
            migrate: { migrator, queue in try migrator.migrate(queue) }
        )
        let (opened, _, setAside) = try opening.openChecked()
        try opened.backup(to: queue)
        hasPagesOfBeginning = false
        try opened.close()
        try forgetCommits()
        let after = Dictionary(try saved().map { ($0.record.id, $0.record) }) { first, _ in first }
        return Opened(
            isSalvaged: setAside != nil,
            lost: before.count { after[$0.id] == nil },
            doubted: before.count { record in
                record.status == .completed && after[record.id].map { $0.status != .completed } ?? false
            }
        )
    }

    /// Writes the database as one file without a log.
    private func write(to path: String) throws {
        let file = try DatabaseQueue(path: path)
        try queue.backup(to: file)
        try file.close()
    }
}

extension [UInt8] {
    fileprivate mutating func damage(_ damage: LifeStore.Damage, _ random: inout SplitMix64) {
        let size = DatabasePages.pageSize
        let page = Int(random.next(upperBound: UInt64(count / size)))
        let range = page * size..<(page + 1) * size
        switch damage {
        case .zeroedPage: for index in range { self[index] = 0 }
        case .randomPage: for index in range { self[index] = UInt8(truncatingIfNeeded: random.next()) }
        case .repeatedPage:
            // Simulates a write to the wrong page.
            let other = Int(random.next(upperBound: UInt64(count / size))) * size
            replaceSubrange(range, with: Array(self[other..<other + size]))
        case .flippedBytes, .flippedHeader:
            let limit = damage == .flippedHeader ? 100 : count
            for _ in 0..<[1, 4, 32][Int(random.next(upperBound: 3 as UInt64))] {
                self[Int(random.next(upperBound: UInt64(limit)))] ^= UInt8(truncatingIfNeeded: random.next() | 1)
            }
        case .cut: removeLast(Int(random.next(upperBound: UInt64(count))))
        }
    }
}
