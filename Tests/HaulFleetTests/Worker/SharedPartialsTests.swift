import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulFleet
@testable import HaulKit

/// Tests partial files that a worker leaves to other workers of the same destination folder.
@Suite(.timeLimit(.minutes(60)))
struct SharedPartialsTests {
    private let content = TestContent(seed: 3, count: 20 << 20)

    private func run(_ test: (SharedPartials, SharedPartials, TemporaryFolder) throws -> Void) throws {
        let folder = try TemporaryFolder()
        try folder.makeFolder("staging")
        try folder.makeFolder("staging/first")
        try folder.makeFolder("staging/second")
        try test(
            SharedPartials(stagingFolder: folder("staging/first")),
            SharedPartials(stagingFolder: folder("staging/second")),
            folder
        )
    }

    private func put(_ ranges: [Range<Int64>], at path: String) throws {
        #expect(FileManager.default.createFile(atPath: path, contents: nil))
        let file = try #require(FileHandle(forWritingAtPath: path))
        for range in ranges {
            try file.seek(toOffset: UInt64(range.lowerBound))
            try file.write(contentsOf: content.bytes(range))
        }
        try file.close()
    }

    @Test func theNextWorkerGetsTheBytesThatTheFirstOneKept() throws {
        try run { first, second, folder in
            let ranges: [Range<Int64>] = [0..<9_000_001, 12 << 20..<20 << 20]
            try put(ranges, at: folder("staging/first/7.haulpart"))
            try first.keep(7, ranges, total: content.count)
            #expect(try second.take(7))
            let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: folder("staging/second/7"))))
            for range in ranges {
                #expect(Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)]) == content.bytes(range))
            }
            let control = try Aria2ControlFile(
                [UInt8](
                    try Data(contentsOf: URL(fileURLWithPath: folder("staging/second/7.aria2")))
                )
            )
            #expect(control.total == content.count)
            // Only whole pieces of 64 KiB within the ranges are claimed.
            #expect(control.claimed == ByteSet([0..<(9_000_001 / 65_536 * 65_536), 12 << 20..<20 << 20]))
            // The first worker may be frozen and write later, so its file stays unchanged.
            #expect(
                try content.bytes(0..<100)
                    == Array(
                        [UInt8](
                            Data(contentsOf: URL(fileURLWithPath: folder("staging/first/7.haulpart")))
                        ).prefix(100)
                    )
            )
        }
    }

    @Test func smallUnknownAndDamagedPartialFilesAreNotTaken() throws {
        try run { first, second, folder in
            #expect(try !second.take(1))
            try put([0..<1 << 20], at: folder("staging/first/2.haulpart"))
            try first.keep(2, [0..<1 << 20], total: content.count)
            #expect(try !second.take(2))
            for (item, text) in [
                (3, "{"), (4, #"{"total": 5, "ranges": [[0, 9000000]]}"#),
                (5, #"{"total": 90000000, "ranges": [[9, 8]]}"#),
                (6, #"{"total": 90000000, "ranges": [[0, 20000000], [10, 30000000]]}"#),
                (7, #"{"total": 9223372036854775807, "ranges": [[0, 8388608]]}"#),
                (
                    8,
                    #"{"total": 9223372036854775807, "ranges": [[0, 4611686018427387904], [4611686018427387905, 9223372036854775807]]}"#
                ),
            ] as [(Int64, String)] {
                try put([0..<10 << 20], at: folder("staging/first/\(item).haulpart"))
                try text.write(toFile: folder("staging/first/\(item).ranges"), atomically: true, encoding: .utf8)
                #expect(try !second.take(item))
            }
        }
    }

    @Test func aPartialFileThatIsShorterThanItsRangesIsAnErrorAndLeavesNothing() throws {
        try run { first, second, folder in
            try put([0..<9 << 20], at: folder("staging/first/8.haulpart"))
            try first.keep(8, [0..<10 << 20], total: content.count)
            #expect(throws: FleetError.self) { try second.take(8) }
            #expect(!FileManager.default.fileExists(atPath: folder("staging/second/8")))
        }
    }

    @Test func whatOthersHaveIsRemovedOnceTheItemIsPublished() throws {
        try run { first, second, folder in
            try put([0..<9 << 20], at: folder("staging/first/9.haulpart"))
            try first.keep(9, [0..<9 << 20], total: content.count)
            second.removeOfOthers(9)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder("staging/first")).isEmpty)
        }
    }
}
