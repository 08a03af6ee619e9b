import Foundation
import NIOCore
import Testing

@testable import HaulCore
@testable import HaulKit
@testable import HaulTesting

/// Writes of all sizes at all offsets, through the page cache and past it.
struct PosixFileTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func file(hasUncachedWrites: Bool) throws -> PosixFile {
        try PosixFile(folder("f"), flags: O_RDWR | O_CREAT | O_EXCL, hasUncachedWrites: hasUncachedWrites)
    }

    /// Returns the bytes as buffers of random sizes.
    private func buffers(_ bytes: ArraySlice<UInt8>, _ random: inout SplitMix64) -> [ByteBuffer] {
        var (rest, buffers) = (bytes, [ByteBuffer]())
        while !rest.isEmpty {
            let most = [10, 5000, 70_000, 600_000][Int.random(in: 0..<4, using: &random)]
            let count = min(rest.count, Int.random(in: 1...most, using: &random))
            buffers.append(ByteBuffer(bytes: rest.prefix(count)))
            rest = rest.dropFirst(count)
        }
        return buffers
    }

    @Test(arguments: 0..<10 as Range<UInt64>, [true, false])
    func theFileHasWhatWasWrittenWhereverItBegins(seed: UInt64, hasUncachedWrites: Bool) throws {
        var random = SplitMix64(seed: seed)
        let bytes = someBytes(3_000_000, seed: seed)
        let file = try file(hasUncachedWrites: hasUncachedWrites)
        var starts = [0, bytes.count]
        for _ in 0..<7 {
            let start = Int.random(in: 0..<bytes.count, using: &random)
            starts.append(seed.isMultiple(of: 2) ? start & ~4095 : start)
        }
        starts.sort()
        // Writes in random order, as several connections do.
        for (start, end) in zip(starts, starts.dropFirst()).shuffled(using: &random) {
            try file.write(buffers(bytes[start..<end], &random), at: Int64(start))
        }
        #expect(try file.read(at: 0, count: bytes.count + 1) == bytes)
        try file.sync()
        #expect(try Array(Data(contentsOf: URL(fileURLWithPath: folder("f")))) == bytes)
    }

    @Test func whatGoesPastTheCacheReplacesWhatTheCacheHas() throws {
        let file = try file(hasUncachedWrites: false)
        let (old, new) = (someBytes(1_000_000, seed: 1), someBytes(600_000, seed: 2))
        try file.write([ByteBuffer(bytes: old)], at: 0)
        #expect(try file.read(at: 0, count: old.count) == old)
        try file.write([ByteBuffer(bytes: new)], at: 100_001)
        #expect(try file.read(at: 0, count: old.count) == old[..<100_001] + new + old[700_001...])
    }

    @Test func aFileThatIsReadAgainStaysInThePageCache() throws {
        let file = try file(hasUncachedWrites: true)
        file.willBeReadAgain()
        let count = 1 << 20
        try file.write([ByteBuffer(bytes: someBytes(count, seed: 1))], at: 0)
        try file.sync()
        let memory = try #require(mmap(nil, count, PROT_READ, MAP_SHARED, file.descriptor, 0))
        try #require(memory != MAP_FAILED)
        defer { munmap(memory, count) }
        var pages = [UInt8](repeating: 0, count: count / 4096)
        #expect(mincore(memory, count, &pages) == 0)
        #expect(pages.allSatisfy { $0 & 1 == 1 })
    }

    @Test func copiesARangeOfAnotherFile() throws {
        let folder = try TemporaryFolder()
        let source = try PosixFile(folder("source"), flags: O_RDWR | O_CREAT | O_EXCL)
        let bytes = someBytes(3_000_000, seed: 7)
        try source.write([ByteBuffer(bytes: bytes)], at: 0)
        let file = try file(hasUncachedWrites: true)
        try file.write([ByteBuffer(bytes: [1, 2, 3])], at: 0)
        try file.copy(1_000_001..<2_500_000, of: source, to: 3)
        #expect(try file.read(at: 0, count: bytes.count) == [1, 2, 3] + bytes[1_000_001..<2_500_000])
    }

    @Test func copiesByBlocksWhereTheKernelDoesNot() throws {
        let memory = MemoryFile(someBytes(2_500_000, seed: 8))
        let file = try file(hasUncachedWrites: true)
        try file.copy(5..<2_500_000, of: memory, to: 11)
        #expect(try file.read(at: 11, count: 2_500_000) == Array(memory.bytes[5...]))
        // The kernel does not copy from a character device.
        let zeros = try PosixFile("/dev/zero", flags: O_RDONLY)
        try file.copy(0..<70_000, of: zeros, to: 0)
        #expect(try file.read(at: 0, count: 70_000) == [UInt8](repeating: 0, count: 70_000))
    }

    @Test func aCopyOfAFileThatIsTooShortFails() throws {
        let folder = try TemporaryFolder()
        let source = try PosixFile(folder("source"), flags: O_RDWR | O_CREAT | O_EXCL)
        try source.write([ByteBuffer(bytes: someBytes(500_000, seed: 9))], at: 0)
        let file = try file(hasUncachedWrites: true)
        let error = #expect(throws: DiskError.self) { try file.copy(400_000..<500_001, of: source, to: 0) }
        #expect(error?.kind == .cutShort)
        #expect(error?.path == source.path)
    }

    /// Returns whether the file system of the temporary folder supports direct writes.
    private static func hasDirectWrites() throws -> Bool {
        let folder = try TemporaryFolder()
        let file = try PosixFile(folder("f"), flags: O_RDWR | O_CREAT | O_EXCL)
        return DirectWriter(beside: file.descriptor) != nil
    }

    @Test(.enabled(if: try hasDirectWrites())) func writesOfWholeBlocksNeedNoCache() throws {
        let file = try file(hasUncachedWrites: true)
        let writer = try #require(DirectWriter(beside: file.descriptor))
        let bytes = someBytes(1_300_000, seed: 4)
        var random = SplitMix64(seed: 4)
        let (written, rest) = try IOVectors.withMemory(of: buffers(bytes[...], &random)) { vectors in
            Result { () throws(SystemCalls.Errno) in (try writer.write(&vectors, at: 8192), vectors.count) }
        }.get()
        #expect(written == bytes.count & ~4095)
        #expect(rest == bytes.count - written)
        #expect(try file.read(at: 8192, count: written) == Array(bytes[..<written]))
    }

    @Test func saysThatTheDiskIsFull() throws {
        let file = try PosixFile("/dev/full", flags: O_WRONLY, hasUncachedWrites: false)
        let bytes = ByteBuffer(bytes: someBytes(500_000, seed: 1))
        let error = #expect(throws: DiskError.self) { try file.write([bytes], at: 0) }
        #expect(error?.kind == .full)
    }
}
