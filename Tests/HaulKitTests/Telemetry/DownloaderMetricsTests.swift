import Foundation
import HaulTesting
import MetricsTestKit
import Testing

@testable import HaulCore
@testable import HaulKit

struct DownloaderMetricsTests {
    private let metrics = TestMetrics()

    private func total(_ label: String, _ dimensions: (String, String)...) throws -> Int64 {
        try metrics.expectCounter(label, [("downloader", "default")] + dimensions).totalValue
    }

    @Test func countsWhatStartsWhatEndsAndTheBytesBetween() async throws {
        try await DownloaderRig.runManyFiles(configure: { $0.telemetry.metrics = metrics }) { rig in
            try await rig.download(try rig.named("a"))
            try await rig.download(try rig.named("b"))
            _ = try await rig.failure(of: try rig.named("c", "missing"))
            let slow = try await rig.downloader.add(try rig.named("d", "slow"))
            await slow.reaches(1000)
            try await slow.cancel()
            #expect(try total("haul_downloads_started_total") == 4)
            #expect(try total("haul_downloads_ended_total", ("outcome", "completed"), ("code", "")) == 2)
            #expect(try total("haul_downloads_ended_total", ("outcome", "cancelled"), ("code", "")) == 1)
            #expect(try total("haul_downloads_ended_total", ("outcome", "failed"), ("code", "refusedByServer")) == 1)
            #expect(try total("haul_received_bytes_total") == 2 * TestContent.small.count + 1000)
            #expect(metrics.timers(label: "haul_download_duration_seconds").flatMap(\.values).count == 2)
            let running = metrics.recorders(
                label: "haul_downloads",
                dimensions: [
                    ("downloader", "default"), ("state", "running"),
                ]
            )
            #expect(running.flatMap(\.values).last == 0 && running.flatMap(\.values).max() == 1)
        }
    }

    @Test func countsBytesOnceThoughTheyCameInTwoParts() async throws {
        let content = TestContent(seed: 5, count: 300_000)
        let resource = content.resource()
        try await DownloaderRig.run(
            configure: { $0.telemetry.metrics = metrics },
            serving: { ($0.range == nil ? resource.silent(after: 200_000) : resource).reply(to: $0) }
        ) { rig in
            let download = try await rig.paused(try rig.request(), at: 200_000)
            #expect(try total("haul_received_bytes_total") == 200_000)
            try await download.resume()
            _ = try await download.result()
            #expect(try total("haul_received_bytes_total") == content.count)
        }
    }

    @Test func hasNoLabelThatGrowsWithTheDownloads() async throws {
        try await DownloaderRig.runManyFiles(configure: { $0.telemetry.metrics = metrics }) { rig in
            let before = metrics.counters.count + metrics.recorders.count + metrics.timers.count
            for number in 0..<20 { try await rig.download(try rig.named("file\(number)")) }
            _ = try await rig.failure(of: try rig.named("c", "missing"))
            #expect(metrics.counters.count + metrics.recorders.count + metrics.timers.count == before)
        }
    }
}
