import CoreMetrics
import Foundation
import HTTPTypes
import HaulKit
import HaulTesting
import HummingbirdTesting
import NIOCore
import Testing

@testable import HaulServer

/// Tests `/metrics`.
@Suite struct MetricsRouteTests {
    /// Returns the samples by name and labels, and the type of each metric.
    private static func read(_ text: String) throws -> (samples: [String: Double], types: [String: String]) {
        var (samples, types): ([String: Double], [String: String]) = ([:], [:])
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ", maxSplits: line.hasPrefix("#") ? 3 : 1).map(String.init)
            if words[0] == "#" {
                guard words[1] == "TYPE" else { continue }
                let earlier = types.updateValue(words[3], forKey: words[2])
                #expect(earlier == nil, "\(words[2]) has two types.")
            } else {
                let name = String(words[0].prefix { $0 != "{" })
                let base = name.replacing(/_(sum|count)$/, with: "")
                #expect(types[name] != nil || types[base] == "summary", "\(name) comes before its type.")
                let value = try #require(Double(words[1]))
                let earlier = samples.updateValue(value, forKey: words[0])
                #expect(earlier == nil, "\(words[0]) is there twice.")
            }
        }
        return (samples, types)
    }

    @Test func countsBytesAndEndsOfDownloads() async throws {
        let server = try await TestServer.start(serving: [
            "/file.bin": FileResource(content: TestContent(seed: 5, count: 1000))
        ])
        let (url, missing) = (server.url("/file.bin"), server.url("/missing"))
        try await ServerRig.run { rig, client in
            _ = try await rig.complete(url, name: "a.bin")
            await #expect(throws: DownloadError.self) { try await rig.complete(missing, name: "b.bin") }
            let answer = try await client.call(.get, "/metrics", rig)
            #expect(answer.headers[.contentType]?.hasPrefix("text/plain; version=0.0.4") == true)
            let (samples, types) = try Self.read(String(buffer: answer.body))
            let ended = "haul_downloads_ended_total{downloader=\"test\",outcome="
            #expect(samples[ended + "\"completed\",code=\"\"}"] == 1)
            #expect(samples[ended + "\"failed\",code=\"refusedByServer\"}"] == 1)
            #expect(samples["haul_downloads{state=\"completed\"}"] == 1)
            #expect(samples["haul_download_duration_seconds_count{downloader=\"test\"}"] == 1)
            #expect(samples["haul_received_bytes_total{downloader=\"test\"}"] == 1000)
            #expect(samples["haul_retries_total{downloader=\"test\"}"] == 0)
            #expect(types["haul_downloads_ended_total"] == "counter" && types["haul_downloads"] == "gauge")
        }
        await server.stop()
    }

    @Test func quotationMarksInLabelsAreEscaped() {
        let registry = MetricsRegistry()
        registry.makeCounter(label: "x_total", dimensions: [("name", "a\"b\\c\nd")]).increment(by: 2)
        registry.makeCounter(label: "x_total", dimensions: [("name", "a\"b\\c\nd")]).increment(by: 3)
        #expect(registry.lines().last == #"x_total{name="a\"b\\c\nd"} 5"#)
    }
}
