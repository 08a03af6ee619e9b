import NIOCore
import Testing

@testable import HaulCore
@testable import HaulKit

/// A partial file that another program truncates during a download.
struct PartFileTests {
    private let disk = SimulatedDisk(seed: 4)

    private func part() throws -> PartFile { PartFile(try disk.create("/d/a.haulpart"), persisted: .zero) {} }

    private func write(_ count: Int, to part: PartFile, at offset: Int64) async -> WriteFailure? {
        await withCheckedContinuation { continuation in
            part.write([ByteBuffer(repeating: 7, count: count)], at: offset) { continuation.resume(returning: $0) }
        }
    }

    @Test(arguments: [0, 1, 99]) func writesNothingBehindAHole(_ length: Int) async throws {
        let part = try part()
        #expect(await write(100, to: part, at: 0) == nil)
        disk.cut("/d/a.haulpart", to: length)
        #expect(await write(100, to: part, at: 100)?.kind == .cutShort)
        #expect(part.persisted == .zero && disk.content("/d/a.haulpart")?.count == length)
        // A later write is not trusted either.
        #expect(await write(100, to: part, at: 0)?.kind == .cutShort)
        let failure = await #expect(throws: DiskError.self) { try await part.sync() }
        #expect(failure?.kind == .cutShort)
    }

    @Test func countsTheTimeOfItsWrites() async throws {
        let part = try part()
        #expect(part.writing == .zero)
        _ = await write(100, to: part, at: 0)
        let writing = part.writing
        #expect(writing > .zero)
        try await Task.sleep(for: .milliseconds(2))
        #expect(part.writing == writing, "nothing is being written")
    }

    @Test func seesThatItWasCutAfterTheLastWrite() async throws {
        let part = try part()
        #expect(await write(100, to: part, at: 0) == nil)
        try await part.checkLength(100)
        disk.cut("/d/a.haulpart", to: 99)
        let failure = await #expect(throws: DiskError.self) { try await part.checkLength(100) }
        #expect(failure?.kind == .cutShort && part.persisted == .zero)
    }

    /// The kernel reports a lost page only once. A new version or forgotten bytes do not clear the failure.
    @Test func keepsTheFailureOfASyncThatRanWhileBytesWereForgotten() async throws {
        let part = try part()
        #expect(await write(100, to: part, at: 0) == nil)
        disk.fail("sync", with: .inputOutput)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await #expect(throws: DiskError.self) { try await part.sync() } }
            group.addTask { part.forget(0..<10) }
        }
        await #expect(throws: DiskError.self) { try await part.sync() }
        #expect(part.persisted.synced.isEmpty && part.persisted.written.isEmpty)
    }

    @Test func cutsOffWhatNoSyncHasVouchedFor() async throws {
        let part = try part()
        #expect(await write(100, to: part, at: 0) == nil)
        _ = try await part.sync()
        #expect(await write(50, to: part, at: 100) == nil)
        try await part.cutToSynced()
        #expect(disk.content("/d/a.haulpart")?.count == 100)
    }

    @Test func mayLeaveGapsAsConnectionsDo() async throws {
        let part = try part()
        #expect(await write(10, to: part, at: 90) == nil)
        #expect(await write(10, to: part, at: 0) == nil)
        #expect(part.persisted.count == 20)
    }
}
