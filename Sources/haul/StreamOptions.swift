public import ArgumentParser
public import HaulKit

/// Options for URLs that lead to the playlist of a stream. `haul get` and `haul add` share these options.
struct StreamOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Variant of a stream: best, smallest, a height (720p), a bandwidth (4M), a codec (hevc) or a number.",
            valueName: "choice"
        )
    )
    var variant: String?

    @Option(
        help: ArgumentHelp(
            "Sound of a stream: a language, a name, all or none. Default: what the playlist prefers.",
            valueName: "lang|name"
        )
    )
    var audio: String?

    @Option(
        help: ArgumentHelp("Subtitles of a stream: a language, a name or all. Needs ffmpeg.", valueName: "lang|name")
    )
    var subtitles: String?

    @Option(help: "Container of a film from a stream: auto, ts, mp4 or mkv. Default: by the name of --output.")
    var container: DownloadRequest.Stream.Container?

    @Flag(help: "Count a stream as complete although segments are missing.")
    var allowGaps = false

    @Option(
        help: ArgumentHelp("End the recording of a live stream after this time: 90m, 2h, 1h30m.", valueName: "time")
    )
    var liveFor: TimeSpan?

    @Option(help: "Where the recording of a live stream begins: start (all that the server still has) or now.")
    var liveFrom: DownloadRequest.Stream.LiveStart?

    @Flag(help: "Save the playlist of a stream itself, as any other file.")
    var noStream = false

    func validate() throws {
        if noStream, let other = named.first {
            throw ValidationError("--no-stream saves the playlist itself, so \(other) does not go with it.")
        }
        do throws(DownloadError) { try stream(output: nil)?.check() } catch { throw ValidationError(error.message) }
    }

    /// Names of the options that are given, without `--no-stream`.
    private var named: [String] {
        [
            ("--variant", variant != nil), ("--audio", audio != nil), ("--subtitles", subtitles != nil),
            ("--container", container != nil), ("--allow-gaps", allowGaps), ("--live-for", liveFor != nil),
            ("--live-from", liveFrom != nil),
        ].filter(\.1).map(\.0)
    }

    /// Whether any of the options is given, `--no-stream` included.
    var isGiven: Bool { noStream || !named.isEmpty }

    /// Returns the options of a request; `nil` if all have their defaults.
    ///
    /// - Parameter output: path of the file. Its extension names the container if `--container` does not.
    func stream(output: String?) -> DownloadRequest.Stream? {
        var stream = DownloadRequest.Stream()
        stream.keepsPlaylist = noStream
        (stream.variant, stream.audio, stream.subtitles) = (variant, audio, subtitles)
        stream.allowsGaps = allowGaps
        (stream.liveSeconds, stream.liveStart) = (liveFor?.seconds, liveFrom)
        if !noStream { stream.container = container ?? output.flatMap(Self.container(of:)) ?? .automatic }
        return stream == DownloadRequest.Stream() ? nil : stream
    }

    private static func container(of path: String) -> DownloadRequest.Stream.Container? {
        guard let dot = path.lastIndex(of: "."), !path[dot...].contains("/") else { return nil }
        return DownloadRequest.Stream.Container(rawValue: path[dot...].dropFirst().lowercased())
    }
}

/// The option of `haul get` that prints the variants and tracks of a stream.
struct VariantListOption: ParsableArguments {
    @Flag(help: "Print the variants, sound and subtitles of streams, and download nothing.")
    var listVariants = false
}

extension DownloadRequest.Stream.Container: ExpressibleByArgument {}
extension DownloadRequest.Stream.LiveStart: ExpressibleByArgument {}

/// A length of time: `5400`, `90m`, `2h` or `1h30m`. A number without a unit is in seconds.
struct TimeSpan: ExpressibleByArgument {
    let seconds: Double

    init?(argument: String) {
        if let plain = Seconds(argument: argument) {
            seconds = plain.value
            return
        }
        var (sum, number) = (0.0, "")
        var units: ArraySlice<(name: Character, seconds: Double)> = [("d", 86_400), ("h", 3600), ("m", 60), ("s", 1)]
        for character in argument {
            if character.isASCII, character.isNumber || character == "." {
                number.append(character)
                continue
            }
            guard let place = units.firstIndex(where: { $0.name == character }),
                let value = Seconds(argument: number)?.value
            else { return nil }
            sum += value * units[place].seconds
            units = units[(place + 1)...]
            number = ""
        }
        guard number.isEmpty, !argument.isEmpty else { return nil }
        seconds = sum
    }
}
