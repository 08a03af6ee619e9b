import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// The programs of Debian's package ffmpeg, which make the films of the tests and judge the results.
enum FilmProgram {
    /// Whether both programs are installed. Without them the tests of films are reported as skipped: the Makefile
    /// installs the package before `make test`.
    static let isInstalled = ["ffmpeg", "ffprobe"].allSatisfy {
        FileManager.default.isExecutableFile(atPath: "/usr/bin/" + $0)
    }

    static let isNeeded: Comment = "needs the package ffmpeg"

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Runs a program of `/usr/bin` to its end.
    ///
    /// - Returns: what it printed.
    /// - Throws: ``Failure`` if it fails, and if it complains: of frames that cannot be decoded, for example.
    @discardableResult
    static func run(_ name: String, _ arguments: [String]) async throws -> String {
        let output = try await ProgramOutput.of(
            "/usr/bin/" + name,
            arguments,
            environment: ["PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"]
        )
        guard output.status == 0, output.complaint.isEmpty else {
            throw Failure(description: "\(name) \(arguments.joined(separator: " ")): \(output.complaint)")
        }
        return output.text
    }

    static func ffmpeg(_ arguments: [String]) async throws {
        try await run("ffmpeg", ["-nostdin", "-hide_banner", "-loglevel", "error", "-y"] + arguments)
    }
}

/// A text that a film shows, with its time in seconds.
struct FilmCue: Sendable, Hashable {
    let start, end: Double
    let text: String

    /// Reads the first subtitles of a file.
    static func all(inFileAt path: String) async throws -> [FilmCue] {
        let text = try await FilmProgram.run(
            "ffmpeg",
            [
                "-nostdin", "-hide_banner", "-loglevel", "error", "-copyts", "-i", path, "-map", "0:s:0", "-f",
                "webvtt",
                "-",
            ]
        )
        return text.components(separatedBy: "\n\n").compactMap { block in
            let lines = block.split(separator: "\n").map(String.init)
            guard let times = lines.first?.components(separatedBy: " --> "), times.count == 2 else { return nil }
            return FilmCue(
                start: seconds(times[0]),
                end: seconds(times[1]),
                text: lines.dropFirst().joined(separator: " ")
            )
        }
    }

    private static func seconds(_ text: String) -> Double {
        text.split(separator: ":").reduce(0) { $0 * 60 + (Double($1) ?? .nan) }
    }
}

/// A film as a player shows it: each decoded frame with its time.
struct DecodedFilm: Sendable {
    struct Frame: Sendable, Hashable {
        /// Seconds.
        var time: Double
        /// Digest of the frame's pixels or sound; `nil` in an expectation for any.
        var digest: String?
    }

    var pictures: [Frame] = []
    /// The frames of each sound track.
    var sounds: [[Frame]] = []
    /// Language of each sound track, as the file names it.
    var languages: [String] = []
    /// Start and end of the film in seconds, as ffprobe reads them.
    var span = 0.0...0.0

    /// Seconds of a picture: all films of the tests have 25 a second.
    static let frame = 0.04

    /// Decodes a file. Each frame of the file is one frame here: none is left out or doubled to keep a rate.
    init(path: String) async throws {
        let folder = try TemporaryFolder()
        defer { withExtendedLifetime(folder) {} }
        try await FilmProgram.ffmpeg([
            "-copyts", "-i", path, "-map", "0:v?", "-map", "0:a?", "-fps_mode", "passthrough",
            "-enc_time_base:v", "1:90000", "-threads", "1", "-f", "framemd5", folder("frames"),
        ])
        try read(String(contentsOfFile: folder("frames"), encoding: .utf8))
        let text = try await FilmProgram.run(
            "ffprobe",
            [
                "-v", "error", "-show_entries", "format=start_time,duration:stream=codec_type:stream_tags=language",
                "-of", "json", path,
            ]
        )
        let facts = try JSONDecoder().decode(Facts.self, from: Data(text.utf8))
        languages = facts.streams.filter { $0.codec_type == "audio" }.map { $0.tags?.language ?? "" }
        let start = try #require(Double(facts.format.start_time))
        span = start...(start + (try #require(Double(facts.format.duration))))
    }

    /// The text of `ffprobe -of json`.
    private struct Facts: Decodable {
        struct Format: Decodable {
            let start_time, duration: String
        }
        struct Stream: Decodable {
            struct Tags: Decodable { let language: String? }
            let codec_type: String?
            let tags: Tags?
        }
        let format: Format
        let streams: [Stream]
    }

    /// Reads lines of ffmpeg's format `framemd5`: number of the stream, times, length and digest.
    private mutating func read(_ text: String) throws {
        var clocks: [Int: Double] = [:]
        var kinds: [Int: String] = [:]
        var frames: [Int: [Frame]] = [:]
        for line in text.split(separator: "\n") {
            if line.hasPrefix("#") {
                let words = line.split { " :".contains($0) }.map(String.init)
                guard words.count == 3, let stream = Int(words[1]) else { continue }
                if words[0] == "#media_type" { kinds[stream] = words[2] }
                let parts = words[2].split(separator: "/").compactMap { Double($0) }
                if words[0] == "#tb", parts.count == 2 { clocks[stream] = parts[0] / parts[1] }
                continue
            }
            let fields = line.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
            let stream = try #require(fields.count == 6 ? Int(fields[0]) : nil)
            let time = try #require(Double(fields[2])) * (try #require(clocks[stream]))
            frames[stream, default: []].append(Frame(time: time, digest: fields[5]))
        }
        for stream in kinds.keys.sorted() {
            let found = frames[stream] ?? []
            if kinds[stream] == "video" { pictures += found } else { sounds.append(found) }
        }
    }

    // MARK: Expectations

    /// The film with this sound alone.
    func with(sound number: Int) -> DecodedFilm {
        var film = self
        film.sounds = [sounds[number]]
        return film
    }

    /// The film and another one behind it, whose first picture follows the last one here.
    func followed(by other: DecodedFilm) -> DecodedFilm {
        var film = self
        let end = Double(pictures.count) * Self.frame
        let shift = end + (pictures.first?.time ?? 0) - (other.pictures.first?.time ?? 0)
        func moved(_ frames: [Frame]) -> [Frame] {
            frames.map { Frame(time: $0.time + shift, digest: $0.digest) }
        }
        film.pictures += moved(other.pictures)
        for (number, frames) in other.sounds.enumerated() {
            var frames = moved(frames)
            // A decoder mixes the first frame behind a seam with the one before it.
            if !frames.isEmpty { frames[0].digest = nil }
            film.sounds[number] += frames
        }
        let seconds = other.span.upperBound - other.span.lowerBound
        film.span = span.lowerBound...((pictures.first?.time ?? span.lowerBound) + end + seconds)
        return film
    }

    /// Returns where this film, the result of a download, does not show another one: each frame once and in order, at
    /// the same times counted from the first picture, with the same sound tracks, and with the duration that a player
    /// shows.
    ///
    /// - Parameter tolerance: seconds by which times may differ: rounding, and at seams the length of a frame.
    func differences(from expected: DecodedFilm, within tolerance: Double = 0.002) -> [String] {
        var found: [String] = []
        let start = (pictures.first ?? sounds.first?.first)?.time ?? 0
        let wanted = (expected.pictures.first ?? expected.sounds.first?.first)?.time ?? 0
        func compare(_ what: String, _ frames: [Frame], _ others: [Frame]) {
            if frames.count != others.count { found.append("\(what): \(frames.count) frames, not \(others.count)") }
            let pairs = zip(frames, others)
            if let place = pairs.enumerated().first(where: { _, pair in
                pair.1.digest != nil && pair.0.digest != pair.1.digest
            }) {
                found.append("\(what): frame \(place.offset) is another one")
            }
            let moved = pairs.map { abs(($0.time - start) - ($1.time - wanted)) }
            let most = moved.max() ?? 0
            if most > tolerance { found.append("\(what): frame \(moved.firstIndex(of: most) ?? 0) is \(most) s off") }
        }
        if pictures.isEmpty, sounds.isEmpty { found.append("nothing") }
        compare("pictures", pictures, expected.pictures)
        if sounds.count != expected.sounds.count {
            found.append("\(sounds.count) sounds, not \(expected.sounds.count)")
        }
        for (number, (frames, others)) in zip(sounds, expected.sounds).enumerated() {
            compare("sound \(number)", frames, others)
        }
        let seconds = (span.upperBound - span.lowerBound, expected.span.upperBound - expected.span.lowerBound)
        if abs(seconds.0 - seconds.1) > Self.frame { found.append("\(seconds.0) s, not \(seconds.1) s") }
        return found
    }

    /// Checks that this film shows another one.
    func expect(
        toShow expected: DecodedFilm,
        within tolerance: Double = 0.002,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(differences(from: expected, within: tolerance) == [], sourceLocation: sourceLocation)
    }
}
