import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit
@testable import haul

/// Tests the progress line without a terminal.
@Suite struct ProgressLineTests {
    private func snapshot(
        _ state: DownloadSnapshot.State = .transferring,
        path: String? = "/data/ubuntu-26.04-desktop-amd64.iso",
        received: Int64 = 87_000_000,
        total: Int64? = 200_000_000,
        speed: Double = 20_400_000,
        error: DownloadError? = nil
    ) throws -> DownloadSnapshot {
        .made(
            state,
            url: try #require(URL(string: "https://files.example/a?token=secret")),
            path: path,
            receivedBytes: received,
            totalBytes: total,
            bytesPerSecond: speed,
            error: error,
            retryDelay: error == nil ? nil : .seconds(7)
        )
    }

    @Test func showsNameBarPercentSizeSpeedAndTimeLeft() throws {
        #expect(
            ProgressLine.of(try snapshot(), columns: 99)
                == "ubuntu-26.04-des…d64.iso  ━━━━━━━━━━━━────────────────   43%      87.0/200 MB   20.4 MB/s      0:06"
        )
    }

    private func film(isLive: Bool = false, total: Int64? = 200_000_000) throws -> DownloadSnapshot {
        DownloadSnapshot(
            url: try #require(URL(string: "https://h.example/talk.m3u8")),
            state: .transferring,
            path: "/data/talk.mp4",
            receivedBytes: 87_000_000,
            totalBytes: isLive ? nil : total,
            bytesPerSecond: 20_400_000,
            connections: [.init(host: "h.example", remainingRange: 0..<1)],
            stream: .init(segments: 300, receivedSegments: 60, seconds: 1200, receivedSeconds: 240, isLive: isLive)
        )
    }

    @Test func showsTheSegmentsOfAStreamAndMarksItsSizeAsAnEstimate() throws {
        let line = ProgressLine.of(try film(), columns: 110)
        #expect(line.contains("87.0/~200 MB") && line.contains("segment  60/300"))
        #expect(ProgressLine.of(try film(isLive: true), columns: 110).contains("segment 60, live"))
        #expect(ProgressLine.total([try film(), try film()], finished: 0, columns: 110).contains("174/~400 MB"))
        #expect(
            SegmentMap.lines(try film(), columns: 12) == [
                "  ██░░░░░░░░", Format.fit("  segment  60/300: 4:00 of 20:00", 12),
            ]
        )
        #expect(SegmentMap.lines(try film(isLive: true), columns: 40).first?.contains("4:00 recorded") == true)
        for columns in 1...180 {
            for total: Int64? in [nil, 0, 200_000_000, .max] {
                #expect(Format.width(ProgressLine.of(try film(total: total), columns: columns)) <= columns)
            }
            #expect(Format.width(ProgressLine.of(try film(isLive: true), columns: columns)) <= columns)
        }
    }

    @Test func saysNoSpeedOfAFilmThatIsShorterThanItsLog() {
        let gaps = ["4.0 s from segment 2 on: It is gone.", "2.0 s from segment 7 on: the list moved on"]
        let film = CompletedDownload(path: "/data/talk.ts", bytes: 22_560, gaps: gaps)
        let line = Format.completed(film, since: .now, from: 23_013)
        #expect(!line.contains("B/s"))
        #expect(
            line.hasSuffix(
                ", with gaps: 4.0 s from segment 2 on: It is gone; 2.0 s from segment 7 on: the list moved on"
            )
        )
        #expect(Format.completed(film, since: .now, from: 0).contains("B/s"))
    }

    @Test func isNeverWiderThanTheTerminal() throws {
        let names = ["a", "写真 2026 (家族).tar.gz", String(repeating: "long-", count: 60), "🎬🎬🎬.mkv", "e\u{301}tude.flac"]
        let lengths: [Int64?] = [nil, 0, 1, 999_500, .max]
        for columns in 1...180 {
            for name in names {
                for total in lengths {
                    for state in DownloadSnapshot.State.allCases {
                        let error = state == .waiting ? DownloadError(.timedOut, "files.example stopped sending.") : nil
                        let line = ProgressLine.of(
                            try snapshot(
                                state,
                                path: "/d/" + name,
                                received: total ?? .max,
                                total: total,
                                error: error
                            ),
                            columns: columns
                        )
                        #expect(Format.width(line) <= columns, "\(columns): \(line)")
                    }
                }
            }
        }
    }

    @Test func sumsLengthsThatNoNumberHolds() throws {
        let one = try snapshot(received: .max, total: .max, speed: 1e-12)
        let line = ProgressLine.total([one, one, one], finished: 0, columns: 100)
        #expect(line.hasPrefix("0/3 files") && line.contains("100%"))
    }

    @Test func countsAFailedFileForNothingInTheTotal() throws {
        let failed = try snapshot(.failed, received: 0, total: nil)
        let line = ProgressLine.total([try snapshot(), failed], finished: 1, columns: 100)
        #expect(line.hasPrefix("1/2 files") && line.contains("43%") && line.contains("87.0/200 MB"))
    }

    @Test func showsNoSecretWhereThereIsNoNameYet() throws {
        let line = ProgressLine.of(try snapshot(.connecting, path: nil), columns: 100)
        #expect(line.contains("files.example/a?***") && !line.contains("secret"))
    }

    @Test(
        arguments: [
            (0, "0 B"), (999, "999 B"), (1000, "1.00 kB"), (9_994, "9.99 kB"), (9_996, "10.0 kB"), (999_499, "999 kB"),
            (999_500, "1.00 MB"), (1_500_000_000, "1.50 GB"), (Int64.max, "9.22 EB"),
        ] as [(Int64, String)]
    )
    func writesThreeDigitsAndAUnit(_ count: Int64, _ text: String) {
        #expect(Format.bytes(count) == text)
    }

    @Test(arguments: [
        (0.0, "0:00"), (33.2, "0:34"), (600, "10:00"), (11_232, "3:07:12"), (370_800, "4d 7h"), (1e18, "11574d 1h"),
    ])
    func writesTimesAsPeopleDo(_ seconds: Double, _ text: String) {
        #expect(Format.time(DownloadSnapshot.time(for: seconds, at: 1)) == text)
    }

    @Test func keepsBothEndsOfAName() {
        #expect(Format.fit("abcdefghij.txt", 9) == "abcdef…xt")
        #expect(Format.fit("写真写真写真", 5) == "写…真")
        #expect(Format.fit("ab", 4) == "ab  ")
    }
}
