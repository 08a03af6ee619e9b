import HaulTesting
import NIOCore
import Testing

@testable import HaulCore
@testable import HaulKit

/// Space that is allocated ahead of the end of a file that grows to an unknown length.
struct AheadAllocationTests {
    private static let mebibyte: Int64 = 1 << 20

    @Test func takesAtMostAQuarterMore() {
        var ahead = AheadAllocation()
        var (allocated, calls): (Int64, Int) = (0, 0)
        for end in stride(from: Self.mebibyte, through: 8 << 30, by: Int(Self.mebibyte)) {
            if let length = ahead.length(forGrowthTo: end) {
                #expect(length >= end)
                (allocated, calls) = (length, calls + 1)
            }
            #expect(allocated <= end + min(end / 4, 256 << 20))
            #expect(end < 16 << 20 ? allocated == 0 : allocated >= end)
        }
        #expect(calls < 60)
    }

    private func write(_ count: Int, to part: PartFile, at offset: Int64) async -> WriteFailure? {
        await withCheckedContinuation { continuation in
            part.write([ByteBuffer(repeating: 7, count: count)], at: offset) { continuation.resume(returning: $0) }
        }
    }

    @Test(arguments: [true, false]) func isOnTheDiskBeforeTheBytes(_ isWanted: Bool) async throws {
        let folder = try TemporaryFolder()
        let file = try PosixDisk().create(folder("log"))
        let part = PartFile(file, persisted: .zero) {}
        if isWanted { part.allocateAhead() }
        // At the write that makes it 16 MiB long, the file gets a quarter of that ahead.
        for megabyte in 0..<17 { #expect(await write(1 << 20, to: part, at: Int64(megabyte) << 20) == nil) }
        let status = try file.status()
        #expect(status.size == 17 << 20)
        #expect((status.allocated >= 20 << 20) == isWanted)
    }

    @Test func aFullDiskEndsTheAllocationAndNotTheWrites() async throws {
        let disk = SimulatedDisk(seed: 5)
        let part = PartFile(try disk.create("/d/log"), persisted: .zero) {}
        part.allocateAhead()
        disk.fail("preallocate", with: .full)
        #expect(await write(17 << 20, to: part, at: 0) == nil)
        #expect(await write(1 << 20, to: part, at: 17 << 20) == nil)
        #expect(part.persisted.count == 18 << 20)
    }
}
