import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Unfinished files of other programs that a download continues.
@Suite("Unfinished files of other programs", .serialized, .timeLimit(.minutes(60)))
struct AdoptedFileTests {
    private static let piece = 1 << 20
    private let content = TestContent(seed: 21, count: 8_000_000)
    private let other = TestContent(seed: 22, count: 8_000_000)
    /// Claims three whole pieces, and three blocks of two other pieces.
    private var control: ControlFileBytes {
        ControlFileBytes(
            total: UInt64(content.count),
            pieces: [0, 1, 4],
            underWay: [(2, [0, 1]), (7, [1])]
        )
    }
    private let missing: Int64 = 8_000_000 - 3_145_728 - 49_152
    /// Number of compared bytes: fifteen blocks, and the last one again.
    private let compared: Int64 = 16 * (16 << 10)

    /// Writes the unfinished file of another program: the claimed bytes of `content`, with zeros between them.
    private func put(_ control: ControlFileBytes, of content: TestContent, _ rig: DownloaderRig) throws {
        let file = try Aria2ControlFile(control.bytes)
        var bytes = [UInt8](repeating: 0, count: Int(file.total))
        for range in file.claimed.ranges {
            bytes.replaceSubrange(Int(range.lowerBound)..<Int(range.upperBound), with: content.bytes(range))
        }
        try Data(bytes).write(to: URL(fileURLWithPath: rig.path))
        try Data(control.bytes).write(to: URL(fileURLWithPath: rig.path + ".aria2"))
    }

    private func contents(_ rig: DownloaderRig) throws -> [String: Data] {
        try Dictionary(
            uniqueKeysWithValues: rig.names().map {
                ($0, try Data(contentsOf: URL(fileURLWithPath: rig.folder + "/" + $0)))
            }
        )
    }

    @Test(
        "fetches only what is missing beside what is compared",
        arguments: ["\"v1\"", "W/\"v1\"", nil] as [String?],
        [1, 4]
    )
    func fetchesTheRest(_ tag: String?, _ connections: Int) async throws {
        try await DownloaderRig.run(
            serving: content.resource(etag: tag).paced(4_000_000),
            configure: { $0.share(connections) }
        ) { rig in
            try put(control, of: content, rig)
            let done = try await rig.download { $0.adopts = .aria2ControlFile }
            #expect(try rig.holdsOnly(content))
            #expect(done.path == rig.path)
            #expect(rig.ranges.allSatisfy { $0 != nil })
            // Without a strong validator, an eighth of the received bytes is compared before each further gap. Bytes in
            // flight on closed connections count as sent, and a starved process closes more connections.
            let again = tag == "\"v1\"" && connections == 1 ? 0 : missing
            #expect(rig.server.bodyBytesSent <= missing + compared + again)
            if connections > 1, tag == "\"v1\"" { #expect(rig.server.requests.contains { $0["If-Match"] == tag }) }
        }
    }

    @Test("continues the file that the URL names in a folder")
    func namedByTheURL() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            try put(control, of: content, rig)
            let done = try await rig.download {
                $0.destination = .folder(path: rig.folder)
                $0.adopts = .aria2ControlFile
            }
            #expect(done.path == rig.path)
            #expect(try rig.holdsOnly(content))
            #expect(rig.server.bodyBytesSent <= missing + compared)
        }
    }

    @Test("touches nothing where it was not asked to")
    func unasked() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            try put(control, of: content, rig)
            let before = try contents(rig)
            #expect(try await rig.failure().code == .fileExists)
            #expect(try contents(rig) == before)
        }
    }

    @Test("leaves a file without a control file alone, unless that is asked for")
    func withoutControlFile() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            try Data(content.bytes(0..<5_000_000)).write(to: URL(fileURLWithPath: rig.path))
            let before = try contents(rig)
            // Awaited outside the macro, because the compiler gives a closure in it the same name as the one below.
            let error = try await rig.failure { $0.adopts = .aria2ControlFile }
            #expect(error.code == .fileExists)
            #expect(try contents(rig) == before)
            try await rig.download { $0.adopts = .partialFile }
            #expect(try rig.holdsOnly(content))
            #expect(rig.server.bodyBytesSent <= 3_000_000 + compared)
        }
    }

    @Test("finishes a file that is complete without fetching more than is compared", arguments: [true, false])
    func complete(_ hasControlFile: Bool) async throws {
        try await DownloaderRig.run(serving: content.resource(), configure: { $0.share() }) { rig in
            try Data(content.bytes(0..<content.count)).write(to: URL(fileURLWithPath: rig.path))
            if hasControlFile {
                let control = ControlFileBytes(total: UInt64(content.count), pieces: Set(0..<8))
                try Data(control.bytes).write(to: URL(fileURLWithPath: rig.path + ".aria2"))
            }
            try await rig.download { $0.adopts = .partialFile }
            #expect(try rig.holdsOnly(content))
            #expect(rig.server.bodyBytesSent <= compared)
            #expect(rig.server.requests.count == 16)
        }
    }

    @Test(
        "continues short beginnings",
        arguments: [0, 2, 100, (16 << 10) - 1, 16 << 10, (16 << 10) + 1, 20_000] as [Int64],
        [20_000, 16 << 10] as [Int64]
    )
    func short(_ count: Int64, _ total: Int64) async throws {
        let small = TestContent(seed: 5, count: total)
        try await DownloaderRig.run(serving: small.resource()) { rig in
            try Data(small.bytes(0..<min(count, total))).write(to: URL(fileURLWithPath: rig.path))
            try await rig.download { $0.adopts = .partialFile }
            #expect(try rig.holdsOnly(small))
        }
    }

    @Test("gives the file back untouched where the server has another one")
    func otherFile() async throws {
        for (wrong, resource) in [
            (other, content.resource()), (content, TestContent(seed: 21, count: 8_000_001).resource()),
            (content, other.resource(etag: nil)),
        ] {
            try await DownloaderRig.run(serving: resource) { rig in
                try put(control, of: wrong, rig)
                let before = try contents(rig)
                #expect(try await rig.failure { $0.adopts = .aria2ControlFile }.code == .contentChanged)
                #expect(try contents(rig) == before)
                #expect(rig.server.bodyBytesSent < 1 << 20)
            }
        }
    }

    @Test("gives the file back where the server cannot send a part of it, or nothing at all")
    func noRanges() async throws {
        var whole = content.resource()
        whole.honoursRange = false
        let served = whole
        let withoutRanges: DownloaderRig.Handler = { served.reply(to: $0) }
        let missing: DownloaderRig.Handler = { _ in .empty(404, "Not Found") }
        let cases: [(DownloaderRig.Handler, DownloadError.Code)] = [
            (withoutRanges, .contentChanged), (missing, .refusedByServer),
        ]
        for (handler, code) in cases {
            try await DownloaderRig.run(serving: handler) { rig in
                try put(control, of: content, rig)
                let before = try contents(rig)
                #expect(try await rig.failure { $0.adopts = .aria2ControlFile }.code == code)
                #expect(try contents(rig) == before)
            }
        }
    }

    @Test(
        "fetches the server's file instead where the user allows the other one to be overwritten",
        arguments: [true, false]
    )
    func overwrites(_ hasOtherContent: Bool) async throws {
        var resource = content.resource()
        resource.honoursRange = hasOtherContent
        try await DownloaderRig.run(serving: resource) { rig in
            try put(control, of: hasOtherContent ? other : content, rig)
            try await rig.download {
                $0.adopts = .aria2ControlFile
                $0.onConflict = .overwrite
            }
            #expect(try rig.holdsOnly(content))
        }
    }

    @Test("gives the file back when it is cancelled, with what was added to it", arguments: [true, false])
    func cancelled(_ hasControlFile: Bool) async throws {
        let silent = content.resource().silent(after: 200_000)
        let whole = content.resource()
        try await DownloaderRig.run(serving: { request in
            (request["Range"]?.hasSuffix("-") ?? true || request.isLong ? silent : whole).reply(to: request)
        }) { rig in
            let here: Int64
            if hasControlFile {
                try put(control, of: content, rig)
                here = content.count - missing
            } else {
                try Data(content.bytes(0..<3_000_000)).write(to: URL(fileURLWithPath: rig.path))
                here = 3_000_000
            }
            let download = try await rig.downloader.add(try rig.request { $0.adopts = .partialFile })
            await download.reaches(here + 100_000)
            #expect(try rig.names().contains("file.bin.haulpart"))
            try await download.cancel()
            #expect(try rig.names() == (hasControlFile ? ["file.bin", "file.bin.aria2"] : ["file.bin"]))
            let left = [UInt8](try Data(contentsOf: URL(fileURLWithPath: rig.path)))
            let claimed =
                hasControlFile ? try Aria2ControlFile(control.bytes).claimed : ByteSet(prefix: Int64(left.count))
            for range in claimed.ranges {
                #expect(left[Int(range.lowerBound)..<Int(range.upperBound)].elementsEqual(content.bytes(range)))
            }
            if !hasControlFile { #expect(left.count >= 3_100_000) }
        }
    }

    @Test("continues what an earlier run took over")
    func laterRun() async throws {
        let silent = content.resource().silent(after: 500_000)
        let whole = content.resource()
        let isLater = CallCounter()
        try await DownloaderRig.run(serving: { request in
            (request.isLong && isLater.value == 0 ? silent : whole).reply(to: request)
        }) { rig in
            try put(control, of: content, rig)
            let request = try rig.request { $0.adopts = .aria2ControlFile }
            let download = try await rig.downloader.add(request)
            await download.reaches(content.count - missing + 400_000)
            try await rig.reopened { second in
                isLater.next()
                _ = try await second.add(request).result()
                #expect(try rig.holdsOnly(content))
            }
        }
    }

    @Test("proves the result with a digest, and gives a file with a wrong byte back")
    func digest() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            try put(control, of: content, rig)
            try await rig.download {
                $0.adopts = .aria2ControlFile
                $0.checksum = content.digest
            }
            #expect(try rig.holdsOnly(content))
        }
        try await DownloaderRig.run(serving: content.resource()) { rig in
            try put(control, of: content, rig)
            try spoil(rig)
            let error = try await rig.failure {
                $0.adopts = .aria2ControlFile
                $0.checksum = content.digest
            }
            // The compared blocks are chosen at random, and the wrong one may be among them.
            #expect([.checksumMismatch, .contentChanged].contains(error.code))
            #expect(try rig.names() == ["file.bin", "file.bin.aria2"])
        }
    }

    @Test("fetches a wrong piece again where the digests of pieces are known")
    func pieces() async throws {
        try await DownloaderRig.run(serving: content.resource(), configure: { $0.share() }) { rig in
            try put(control, of: content, rig)
            try spoil(rig)
            try await rig.download {
                $0.adopts = .aria2ControlFile
                $0.pieces = content.pieces(1 << 18)
                $0.size = content.count
            }
            #expect(try rig.holdsOnly(content))
        }
    }

    /// Changes one byte in a part of the file where blocks are rarely compared.
    private func spoil(_ rig: DownloaderRig) throws {
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: rig.path))
        try file.seek(toOffset: 300_001)
        try file.write(contentsOf: [content.bytes(300_001..<300_002)[0] ^ 1])
        try file.close()
    }

    @Test("refuses a file that another process is writing")
    func inUse() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            try put(control, of: content, rig)
            let before = try contents(rig)
            let writer = try FileHandle(forUpdating: URL(fileURLWithPath: rig.path))
            let error = try await rig.failure { $0.adopts = .aria2ControlFile }
            #expect(error.code == .inUse)
            #expect(try contents(rig) == before)
            #expect(rig.server.requests.isEmpty)
            try writer.close()
            try await rig.download { $0.adopts = .aria2ControlFile }
            #expect(try rig.holdsOnly(content))
        }
    }

    @Test("refuses control files that it cannot read, and files that are not what they describe")
    func refusals() async throws {
        var torrent = control
        torrent.hash = [UInt8](repeating: 1, count: 20)
        var short = control
        short.total = 7_999_999
        for bytes in [torrent.bytes, Array(control.bytes.dropLast()), [], short.bytes] {
            try await DownloaderRig.run(serving: content.resource()) { rig in
                try put(control, of: content, rig)
                try Data(bytes).write(to: URL(fileURLWithPath: rig.path + ".aria2"))
                let before = try contents(rig)
                #expect(try await rig.failure { $0.adopts = .partialFile }.code == .fileExists)
                #expect(try contents(rig) == before)
                #expect(rig.server.requests.isEmpty)
            }
        }
    }

    @Test("continues no link, no file with a second name, and nothing beside a partial file that stands there")
    func notOurs() async throws {
        for kind in ["link", "hard link", "part"] {
            try await DownloaderRig.run(serving: content.resource()) { rig in
                try put(control, of: content, rig)
                switch kind {
                case "link":
                    try FileManager.default.moveItem(atPath: rig.path, toPath: rig.root + "/file")
                    try FileManager.default.createSymbolicLink(
                        atPath: rig.path,
                        withDestinationPath: rig.root + "/file"
                    )
                case "part": try rig.put("mine", at: rig.path + ".haulpart")
                default: try FileManager.default.linkItem(atPath: rig.path, toPath: rig.root + "/file")
                }
                let before = try contents(rig)
                #expect(try await rig.failure { $0.adopts = .aria2ControlFile }.code == .fileExists, "\(kind)")
                #expect(try contents(rig) == before)
            }
        }
    }
}

extension TestRequest {
    /// Whether the request asks for more than one compared block.
    fileprivate var isLong: Bool {
        range.map { range in range.last.map { $0 - range.first > 16 << 10 } ?? true } ?? true
    }
}
