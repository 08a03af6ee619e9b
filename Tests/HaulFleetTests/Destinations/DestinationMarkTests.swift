import Foundation
import HaulTesting
import Synchronization
import Testing

@testable import HaulFleet

/// Stores the name of the destination as a queue does.
private final class Marks: Sendable {
    let name = Mutex<String?>(nil)

    func check(_ root: String) async throws(FleetError) {
        try await DestinationMark.check(root, known: name.withLock { $0 }) { new in
            name.withLock { name in
                name = name ?? new
                return name ?? new
            }
        }
    }
}

@Suite struct DestinationMarkTests {
    private func marks(in folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder + "/.haul-fleet").filter { $0.hasPrefix("mark-") }
    }

    @Test func isMadeOnceAndFoundAgain() async throws {
        try await TemporaryFolder.with { folder in
            let queue = Marks()
            for _ in 0..<3 { try await queue.check(folder.path) }
            let name = try #require(queue.name.withLock { $0 })
            #expect(try marks(in: folder.path) == ["mark-\(name)"])
        }
    }

    @Test func aFolderWithoutItIsRefusedAndStaysEmpty() async throws {
        try await TemporaryFolder.with { folder in
            let queue = Marks()
            try await queue.check(folder.path)
            let mountPoint = folder("empty")
            try FileManager.default.createDirectory(atPath: mountPoint, withIntermediateDirectories: false)
            await expectError(.destinationRefused) { try await queue.check(mountPoint) }
            #expect(try FileManager.default.contentsOfDirectory(atPath: mountPoint).isEmpty)
            // A folder that workers used for another queue is refused as well.
            try await Marks().check(mountPoint)
            await expectError(.destinationRefused) { try await queue.check(mountPoint) }
        }
    }

    @Test func aFolderBecomesTheDestinationByMakingTheFile() async throws {
        try await TemporaryFolder.with { folder in
            let (queue, other) = (Marks(), folder("other"))
            try await queue.check(folder.path)
            let name = try #require(queue.name.withLock { $0 })
            try FileManager.default.createDirectory(atPath: other + "/.haul-fleet", withIntermediateDirectories: true)
            try #require(FileManager.default.createFile(atPath: other + "/.haul-fleet/mark-\(name)", contents: nil))
            try await queue.check(other)
        }
    }

    @Test func ofManyFirstWorkersOneMarkStays() async throws {
        try await TemporaryFolder.with { folder in
            let queue = Marks()
            try await withThrowingTaskGroup { group in
                for _ in 0..<16 { group.addTask { try await queue.check(folder.path) } }
                try await group.waitForAll()
            }
            #expect(try marks(in: folder.path).count == 1)
        }
    }

    @Test(arguments: ["", "../../x", "A", "a/b", String(repeating: "a", count: 33)])
    func aNameThatIsNoneOfOursIsRefused(_ name: String) async throws {
        try await TemporaryFolder.with { folder in
            let queue = Marks()
            queue.name.withLock { $0 = name }
            await expectError(.databaseRefused) { try await queue.check(folder.path) }
        }
    }

    @Test func twoQueuesShareAFolder() async throws {
        try await TemporaryFolder.with { folder in
            let queues = [Marks(), Marks()]
            for queue in queues + queues { try await queue.check(folder.path) }
            #expect(try marks(in: folder.path).count == 2)
        }
    }
}
