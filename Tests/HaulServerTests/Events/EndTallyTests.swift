import Foundation
import HaulKit
import HaulTesting
import Logging
import Testing

@testable import HaulServer

/// Tests which ends of downloads have a log line, and what the summary counts.
@Suite struct EndTallyTests {
    private static func snapshot(_ state: DownloadSnapshot.State, hold: HoldReason? = nil) throws -> DownloadSnapshot {
        let url = try #require(URL(string: "https://user:password@files.example/a.bin?token=secret"))
        return DownloadSnapshot(url: url, state: state, holdReason: hold)
    }

    private static func completed(_ bytes: Int64, alreadyExisted: Bool = false) throws -> DownloaderEvent {
        let file = CompletedDownload(path: "/a.bin", bytes: bytes, alreadyExisted: alreadyExisted)
        return .ended(try snapshot(.completed), .completed(file))
    }

    private static func numbers(_ line: EndTally.Line?) -> [String: String] {
        (line?.metadata ?? [:]).mapValues { "\($0)" }
    }

    @Test func aFailureHasALineWithoutSecretsAtOnce() throws {
        var tally = EndTally()
        let error = DownloadError(code: .refusedByServer, message: "The server answered 404.", status: 404)
        let made = tally.line(for: .ended(try Self.snapshot(.failed), .failed(error)))
        let line = try #require(made)
        #expect(line.level == .warning)
        #expect(line.message == "Failed: https://***@files.example/a.bin?***: The server answered 404.")
        #expect(Self.numbers(line)["code"] == "refusedByServer" && Self.numbers(line)["status"] == "404")
    }

    @Test func successesHaveASummaryAlone() throws {
        var tally = EndTally()
        let before = tally.takeSummary()
        #expect(before == nil)
        for event in [try Self.completed(40), try Self.completed(2), try Self.completed(7, alreadyExisted: true)] {
            let line = tally.line(for: event)
            #expect(line == nil)
        }
        _ = tally.line(for: .changedTogether(to: .completed, count: 5))
        _ = tally.line(for: .ended(try Self.snapshot(.cancelled), .cancelled))
        let summary = Self.numbers(tally.takeSummary())
        #expect(summary == ["completed": "8", "bytes": "42", "failed": "0", "cancelled": "1", "held": "0"])
        let after = tally.takeSummary()
        #expect(after == nil)
    }

    /// A full disk holds one download after another.
    @Test func theFirstHoldForAReasonHasALine() throws {
        var tally = EndTally()
        let full = DownloaderEvent.changed(try Self.snapshot(.paused, hold: .diskFull))
        let first = tally.line(for: full)
        let second = tally.line(for: full)
        let other = tally.line(for: .changed(try Self.snapshot(.paused, hold: .quota)))
        let pause = tally.line(for: .changed(try Self.snapshot(.paused)))
        #expect(first?.level == .warning && second == nil && other != nil && pause == nil)
        let summary = Self.numbers(tally.takeSummary())
        #expect(summary["held"] == "3")
        let later = tally.line(for: full)
        #expect(later != nil)
    }

    @Test func theEndOfTheDaemonIsNoFailure() throws {
        var tally = EndTally()
        let error = DownloadError(code: .shutDown, message: "The downloader was shut down.")
        let line = tally.line(for: .ended(try Self.snapshot(.paused), .failed(error)))
        #expect(line == nil && tally.isEmpty)
    }
}
