import Foundation
import HaulTesting
import Synchronization
import Testing

@testable import HaulCore
@testable import HaulKit

/// Cuts the power at each write, sync and rename of a download.
@Suite(.timeLimit(.minutes(60)))
struct PowerCutTests {
    static let content = TestContent(seed: 7, count: 300_000).bytes(0..<300_000)
    static let otherVersion = TestContent(seed: 8, count: 300_000).bytes(0..<300_000)

    @Test func aPlainDownloadSurvivesACutAtEveryOperation() async throws {
        try await Self.cutEverywhere("plain", ends: Self.content) { request, _ in
            ScriptedTransport.file(Self.content, tag: "\"a\"", for: request)
        }
    }

    @Test func aDownloadWhoseConnectionBreaksSurvivesACutAtEveryOperation() async throws {
        try await Self.cutEverywhere("breaking", ends: Self.content) { request, number in
            var answer = ScriptedTransport.file(Self.content, tag: "\"a\"", for: request)
            if number % 3 != 0, answer.body.count > 90_000 {
                answer.body = Array(answer.body.prefix(90_000))
                answer.failure = TransportError(.connectionLost, "scripted")
            }
            return answer
        }
    }

    @Test func aFileOfSeveralConnectionsSurvivesACutAtEveryOperation() async throws {
        try await Self.cutEverywhere("shared", ends: Self.content, connections: 4) { request, _ in
            ScriptedTransport.file(Self.content, tag: "\"a\"", for: request)
        }
    }

    @Test func severalConnectionsThatBreakSurviveACutAtEveryOperation() async throws {
        try await Self.cutEverywhere("shared, breaking", ends: Self.content, connections: 4) { request, number in
            var answer = ScriptedTransport.file(Self.content, tag: "\"a\"", for: request)
            if number % 3 != 0, answer.body.count > 30_000 {
                answer.body = Array(answer.body.prefix(30_000))
                answer.failure = TransportError(.connectionLost, "scripted")
            }
            return answer
        }
    }

    @Test func aFileThatChangesUnderSeveralConnectionsIsNeverMixedByACut() async throws {
        // The first two requests get the old version and break off.
        try await Self.cutEverywhere("shared, changing", ends: Self.otherVersion, connections: 4) { request, number in
            guard number <= 2, request.condition.field.map({ $0.value == "\"a\"" }) ?? true, number < 1000 else {
                return ScriptedTransport.file(Self.otherVersion, tag: "\"b\"", for: request)
            }
            var answer = ScriptedTransport.file(Self.content, tag: "\"a\"", for: request)
            answer.body = Array(answer.body.prefix(50_000))
            answer.failure = TransportError(.connectionLost, "scripted")
            return answer
        }
    }

    @Test func aFileThatChangesAtTheServerIsNeverMixedByACut() async throws {
        // The first request gets the old version and breaks off; later requests get the new one.
        try await Self.cutEverywhere("changing", ends: Self.otherVersion) { request, number in
            guard number == 1, request.firstByte == 0, request.condition == .none else {
                return ScriptedTransport.file(Self.otherVersion, tag: "\"b\"", for: request)
            }
            var answer = ScriptedTransport.file(Self.content, tag: "\"a\"", for: request)
            answer.body = Array(answer.body.prefix(150_000))
            answer.failure = TransportError(.connectionLost, "scripted")
            return answer
        }
    }

    @Test func aCheckedDownloadThatOverwritesKeepsTheOldFileUntilTheNewOneIsThere() async throws {
        let old: [UInt8] = Array("the old file".utf8)
        try await Self.cutEverywhere("overwriting", ends: Self.content, old: old) { request, _ in
            ScriptedTransport.file(Self.content, tag: "\"a\"", for: request)
        }
    }

    @Test("another program's unfinished file survives a cut at every operation")
    func anUnfinishedFileSurvivesACutAtEveryOperation() async throws {
        let control = ControlFileBytes(pieceLength: 50_000, total: 300_000, pieces: [0, 1, 4])
        var unfinished = [UInt8](repeating: 0, count: 300_000)
        for range in try Aria2ControlFile(control.bytes).claimed.ranges {
            unfinished.replaceSubrange(
                Int(range.lowerBound)..<Int(range.upperBound),
                with: Self.content[Int(range.lowerBound)..<Int(range.upperBound)]
            )
        }
        try await Self.cutEverywhere("unfinished", ends: Self.content, old: unfinished, control: control.bytes) {
            request,
            _ in
            ScriptedTransport.file(Self.content, tag: "\"a\"", for: request)
        }
    }

    /// Repeats the download and cuts the power one operation later each time, until a run ends before the cut. Recovers
    /// and compares after each cut.
    private static func cutEverywhere(
        _ name: String,
        ends expected: [UInt8],
        old: [UInt8]? = nil,
        control: [UInt8]? = nil,
        connections: Int = 1,
        _ script: @escaping @Sendable (TransportRequest, Int) -> ScriptedTransport.Answer
    ) async throws {
        var cuts = 0
        for seed in UInt64(1)...3 {
            var operation = 1
            while true {
                let rig = try PowerCutRig(
                    seed: seed &* 1_000_003 &+ UInt64(operation),
                    old: old,
                    control: control,
                    connections: connections
                )
                let isCut = try await rig.run(cuttingAt: operation, script)
                if isCut {
                    cuts += 1
                    try await rig.recover(expected, "\(name), seed \(seed), operation \(operation)", script)
                }
                if !isCut { break }
                operation += 1
                try #require(operation < 2000, "the download never ends")
            }
        }
        print("power cuts, \(name): \(cuts)")
        #expect(cuts > 30)
    }
}

/// One download over a simulated disk, with the states of its store that a power cut may leave.
private final class PowerCutRig: Sendable {
    private static let path = "/data/file.bin"
    private let disk: SimulatedDisk
    private let folder: TemporaryFolder
    private let old: [UInt8]?
    /// The aria2 control file of the old file, which the download continues.
    private let control: [UInt8]?
    private let connections: Int
    private let snapshots = StoreSnapshots()
    private let random: Mutex<SplitMix64>

    init(seed: UInt64, old: [UInt8]?, control: [UInt8]?, connections: Int) throws {
        self.control = control
        self.connections = connections
        disk = SimulatedDisk(seed: seed)
        self.old = old
        folder = try TemporaryFolder()
        random = Mutex(SplitMix64(seed: seed))
        if let old { disk.put(old, at: Self.path) }
        if let control { disk.put(control, at: Self.path + ".aria2") }
    }

    private func configure(_ configuration: inout Downloader.Configuration) {
        configuration.storage.restoration = .onRequest
        configuration.storage.batchBytes = 16 * 1024
        configuration.storage.progressInterval = .milliseconds(1)
        configuration.storage.syncInterval = .milliseconds(2)
        configuration.retry.base = .milliseconds(1)
        configuration.retry.cap = .milliseconds(2)
        configuration.share(connections)
    }

    private var request: DownloadRequest {
        get throws {
            var request = DownloadRequest(
                try #require(URL(string: "http://server.test/file.bin")),
                to: .file(path: Self.path)
            )
            if control != nil {
                request.adopts = .aria2ControlFile
            } else if old != nil {
                request.onConflict = .overwrite
            }
            return request
        }
    }

    private func downloader(
        _ folder: String,
        isWatched: Bool,
        _ script: @escaping @Sendable (TransportRequest, Int) -> ScriptedTransport.Answer
    ) async throws -> Downloader {
        try await SimulatedRig.open(
            disk,
            in: folder,
            configure: configure,
            observing: { if isWatched, !self.disk.isDead { self.snapshots.note($0, of: folder) } },
            answering: script
        ).downloader
    }

    /// - Returns: whether the power was cut before the download completed.
    func run(
        cuttingAt operation: Int,
        _ script: @escaping @Sendable (TransportRequest, Int) -> ScriptedTransport.Answer
    ) async throws
        -> Bool
    {
        let downloader = try await downloader(folder("a"), isWatched: true, script)
        disk.cutPower(at: operation)
        let download = try await downloader.add(request)
        let result: Result<CompletedDownload, DownloadError>
        do throws(DownloadError) { result = .success(try await download.result()) } catch { result = .failure(error) }
        await downloader.shutDown()
        if !disk.isDead { #expect(throws: Never.self) { try result.get() } }
        return disk.isDead
    }

    func recover(
        _ expected: [UInt8],
        _ context: String,
        _ script: @escaping @Sendable (TransportRequest, Int) -> ScriptedTransport.Answer
    ) async throws {
        snapshots.end()
        disk.restart()
        let restored = folder("b")
        let isRestored = try random.withLock { try snapshots.restore(into: restored, choosing: &$0) }
        try #require(isRestored)

        // The final name has no file, the old file or the complete correct file, but never a part.
        if let existingFile = disk.content(Self.path) {
            #expect(existingFile == expected || existingFile == old, "wrong bytes under the final name: \(context)")
        } else if let control {
            // The unfinished file was renamed to its partial name, and has all claimed bytes.
            let bytes = try #require(disk.content(Self.path + ".haulpart"), "the file is gone: \(context)")
            for range in try Aria2ControlFile(control).claimed.ranges {
                let (lower, upper) = (Int(range.lowerBound), Int(range.upperBound))
                #expect(bytes[lower..<upper] == expected[lower..<upper], "claimed bytes are gone: \(context)")
            }
        } else {
            #expect(old == nil, "the old file is gone: \(context)")
        }

        let downloader = try await downloader(restored, isWatched: false) { request, _ in script(request, 1000 * 3) }
        let saved = try await downloader.store.find(request)
        let record = try #require(saved?.record, "the record is lost: \(context)")
        if let progress = saved?.progress, let part = record.partPath, record.status != .completed,
            !progress.synced.isEmpty,
            let bytes = disk.content(part)
        {
            let claimed = ByteSet(text: progress.synced)
            #expect(Int64(bytes.count) >= claimed.ranges.last?.upperBound ?? 0, "a claim ahead of the disk: \(context)")
            for range in claimed.ranges where range.upperBound <= bytes.count {
                let stretch = bytes[Int(range.lowerBound)..<Int(range.upperBound)]
                // The claimed bytes may be of either version.
                let versions = [PowerCutTests.content, PowerCutTests.otherVersion].map { version in
                    stretch == version[Int(range.lowerBound)..<Int(range.upperBound)]
                }
                #expect(
                    versions.contains(true),
                    "a claim about bytes that the disk does not have, \(range): \(context)"
                )
            }
        }
        let result = try await downloader.add(request).result()
        #expect(disk.content(result.path) == expected, "wrong bytes after recovery: \(context)")
        #expect(disk.paths == [Self.path], "something was left behind: \(context)")
        await downloader.shutDown()
    }
}
