import ArgumentParser
import HaulServer
import Testing

@testable import HaulCore
@testable import haul

/// Tests how options for streams become options of a request.
struct StreamOptionTests {
    private func stream(_ words: String..., output: String? = nil) throws -> DownloadRequest.Stream? {
        try StreamOptions.parse(words).stream(output: output)
    }

    @Test func setsWhatIsGivenAndNothingElse() throws {
        #expect(try stream() == nil)
        let all = try #require(
            try stream(
                "--variant",
                "720p",
                "--audio",
                "de",
                "--subtitles",
                "all",
                "--container",
                "mkv",
                "--allow-gaps",
                "--live-for",
                "1h30m",
                "--live-from",
                "now"
            )
        )
        #expect(all.variant == "720p" && all.audio == "de" && all.subtitles == "all" && all.container == .matroska)
        #expect(all.allowsGaps && all.liveSeconds == 5400 && all.liveStart == .now && !all.keepsPlaylist)
        #expect(try stream("--no-stream")?.keepsPlaylist == true)
    }

    @Test func takesTheContainerFromTheNameOfTheFile() throws {
        #expect(try stream(output: "talk.ts")?.container == .transportStream)
        #expect(try stream(output: "a/talk.MP4")?.container == .mp4)
        #expect(try stream("--container", "ts", output: "talk.mkv")?.container == .transportStream)
        #expect(try stream(output: "talk.webm") == nil)
        #expect(try stream(output: "a.mkv/talk") == nil)
        #expect(try stream("--no-stream", output: "talk.ts")?.container == .automatic)
    }

    @Test(arguments: [("5400", 5400), ("0.5", 0.5), ("90m", 5400), ("2h", 7200), ("1d", 86_400), ("1h30m15s", 5415)])
    func readsALengthOfTime(_ text: String, _ seconds: Double) {
        #expect(TimeSpan(argument: text)?.seconds == seconds)
    }

    @Test(arguments: ["", "h", "2x", "30m1h", "1h1h", "1h30", "0x10", "nan"])
    func refusesWhatIsNoLengthOfTime(_ text: String) {
        #expect(TimeSpan(argument: text) == nil)
    }

    @Test func sendsTheOptionsToTheDaemon() throws {
        let options = try AddOptionGroup.parse(["--variant", "4M", "--output", "talk.mkv"])
        let parts = try AddParts(["https://h.example/master.m3u8"], options)
        guard case .array(let items)? = parts.parts.first?.fields["items"], case .object(let item)? = items.first,
            case .object(let stream)? = item["stream"]
        else {
            Issue.record("The item has no stream.")
            return
        }
        #expect(stream["variant"] == "4M" && stream["container"] == "mkv" && stream["liveSeconds"] == nil)
        let plain = try AddParts(["https://h.example/a.iso"], try AddOptionGroup.parse([]))
        guard case .array(let others)? = plain.parts.first?.fields["items"], case .object(let other)? = others.first
        else {
            Issue.record("There is no item.")
            return
        }
        #expect(other["stream"] == nil)
    }
}
