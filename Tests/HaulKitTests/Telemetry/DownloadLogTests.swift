import HaulTesting
import Logging
import Synchronization
import Testing

@testable import HaulCore
@testable import HaulKit

/// The log lines of a downloader.
@Suite(.timeLimit(.minutes(60)))
struct DownloadLogTests {
    private final class Lines: Sendable {
        let all = Mutex<[(text: String, metadata: [String: String])]>([])
    }
    private struct Handler: LogHandler {
        let lines: Lines
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.info

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let values = (event.metadata ?? [:]).mapValues { "\($0)" }
            lines.all.withLock { $0.append((event.message.description, values)) }
        }
    }

    @Test func callsNoMessageDroppedThatNobodyIsThereToShow() async throws {
        let lines = Lines()
        try await DownloaderRig.runManyFiles(configure: {
            $0.telemetry.logger = Logger(label: "test") { _ in Handler(lines: lines) }
            $0.hooks.actions = [.desktopNotification(on: [.completed])]
        }) { rig async throws in
            _ = try await rig.downloader.add(try rig.named("a")).result()
            await rig.downloader.shutDown()
        }
        #expect(lines.all.withLock { $0.filter { $0.text.contains("dropped") }.isEmpty && !$0.isEmpty })
    }

    @Test func tellsStartAndEndWithDownloadAndGroup() async throws {
        let lines = Lines()
        try await DownloaderRig.runManyFiles(
            configure: { $0.telemetry.logger = Logger(label: "test") { _ in Handler(lines: lines) } }
        ) { rig async throws in
            let done = try await rig.downloader.add(try rig.named("a", "fast/x?token=s3cret") { $0.group = "g" })
            _ = try await done.result()
            let failed = try await rig.downloader.add(try rig.named("b", "missing"))
            _ = await failed.outcome()
            let slow = try await rig.downloader.add(try rig.named("c", "slow"))
            await slow.reaches(1000)
            try await slow.cancel()
            await rig.downloader.shutDown()
            func texts(_ download: Download) -> [String] {
                lines.all.withLock { $0.filter { $0.metadata["download"] == "\(download.id)" }.map(\.text) }
            }
            #expect(texts(done).count == 2 && texts(failed).count == 2 && texts(slow).count == 2)
            #expect(texts(done).first?.hasPrefix("started http") == true)
            #expect(texts(done).last == "completed \(rig.folder)/a, \(TestContent.small.count) bytes")
            #expect(texts(failed).last?.hasPrefix("failed: The server answered 404") == true)
            #expect(texts(slow).last == "cancelled")
            lines.all.withLock { all in
                #expect(!all.contains { $0.text.contains("s3cret") })
                for line in all {
                    #expect(line.metadata["group"] == (line.metadata["download"] == "\(done.id)" ? "g" : nil))
                }
            }
        }
    }
}
