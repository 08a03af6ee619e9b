import Foundation
import HaulKit

/// Prints the variants and tracks of streams, for `haul get --list-variants`.
struct VariantList {
    private let downloader: Downloader
    private let display: any Display
    private let isJSON: Bool

    init(_ downloader: Downloader, _ display: any Display, isJSON: Bool) {
        (self.downloader, self.display, self.isJSON) = (downloader, display, isJSON)
    }

    /// Probes the URLs, one after another.
    ///
    /// - Returns: the status of the first URL that is no stream or does not answer.
    func print(_ wanted: Wanted) async -> ExitStatus {
        var summary = StatusSummary()
        for line in wanted.unreadable {
            display.unreadable(line)
            summary.note(.usage, at: line.position)
        }
        for (index, request) in wanted.requests.enumerated() {
            do throws(DownloadError) {
                let found = try await downloader.probe(request)
                guard let stream = found.stream else { throw Self.isNoStream }
                if isJSON {
                    for line in Self.rows(stream, of: request.url.masked) { JSONLine.print(line) }
                } else {
                    if wanted.requests.count > 1 { Output.result(VisibleText.line(request.url.messageText)) }
                    for line in Self.lines(stream) { Output.result(VisibleText.line(line)) }
                }
            } catch {
                let status = ExitStatus(error)
                summary.note(status, at: index)
                if status == .interrupted { break }
                display.refused(request.url.masked, error, at: wanted.place(of: index))
            }
        }
        display.close()
        return summary.status(isInterrupted: Interruption.hasHappened)
    }

    private static let isNoStream = DownloadError(
        .invalidStream,
        "This URL leads to a file, not to the playlist of a stream."
    )

    // MARK: For people

    /// Returns a line for each variant, with `*` before the best, then the sound, the subtitles, the length and the
    /// protection.
    static func lines(_ stream: ResourceDescription.Stream) -> [String] {
        let cells = stream.variants.map { variant in
            [
                "\(variant.number)", size(variant), variant.bandwidth > 0 ? rate(variant.bandwidth) : "-",
                variant.codecs.isEmpty ? "-" : variant.codecs.joined(separator: ", "),
            ]
        }
        let widths = (0..<3).map { column in cells.map { $0[column].count }.max() ?? 0 }
        var lines = zip(stream.variants, cells).map { variant, cells in
            let padded = zip(cells, widths).map { $0 + String(repeating: " ", count: max(0, $1 - $0.count)) }
            return ([variant.isBest ? "*" : " "] + padded + [cells[3]]).joined(separator: "  ")
        }
        if stream.variants.isEmpty { lines.append("one variant: the playlist lists the segments itself") }
        if !stream.audio.isEmpty { lines.append("sound: " + names(stream.audio)) }
        if !stream.subtitles.isEmpty { lines.append("subtitles: " + names(stream.subtitles)) }
        if stream.isLive {
            lines.append("live")
        } else if let seconds = stream.seconds {
            lines.append("length: " + Format.time(DownloadSnapshot.time(for: seconds, at: 1)))
        }
        if let protection = stream.protection { lines.append("protected, cannot be downloaded: " + protection) }
        return lines
    }

    private static func size(_ variant: ResourceDescription.Stream.Variant) -> String {
        switch (variant.width, variant.height) {
        case (let width?, let height?): "\(width)x\(height)"
        case (nil, let height?): "\(height)p"
        default: "-"
        }
    }

    /// Formats bits per second: `800 kbit/s`, `4.10 Mbit/s`.
    private static func rate(_ bits: Int64) -> String {
        Format.bytes(bits).replacingOccurrences(of: "B", with: "bit/s")
    }

    private static func names(_ tracks: [ResourceDescription.Stream.Track]) -> String {
        tracks.map { track in
            let language = track.language.map { $0 == track.name ? "" : " (\($0))" } ?? ""
            return (track.isDefault ? "* " : "") + (track.name.isEmpty ? "unnamed" : track.name) + language
        }.joined(separator: ", ")
    }

    // MARK: For programs

    /// A line of JSON. New keys may be added. An absent key means no value.
    struct Row: Encodable, Equatable {
        enum Kind: String, Encodable { case stream, variant, audio, subtitles }
        var type: Kind
        var url: String
        var number: Int?
        var width: Int?
        var height: Int?
        /// Bits per second.
        var bandwidth: Int64?
        var codecs: [String]?
        var isBest: Bool?
        var name: String?
        var language: String?
        var isDefault: Bool?
        var seconds: Double?
        var isLive: Bool?
        var protection: String?
    }

    /// Returns a row for the stream, then one for each variant and each track.
    static func rows(_ stream: ResourceDescription.Stream, of url: String) -> [Row] {
        let whole = Row(
            type: .stream,
            url: url,
            seconds: stream.seconds.flatMap { $0.isFinite ? $0 : nil },
            isLive: stream.isLive,
            protection: stream.protection
        )
        let variants = stream.variants.map { variant in
            Row(
                type: .variant,
                url: url,
                number: variant.number,
                width: variant.width,
                height: variant.height,
                bandwidth: variant.bandwidth > 0 ? variant.bandwidth : nil,
                codecs: variant.codecs,
                isBest: variant.isBest
            )
        }
        return [whole] + variants + tracks(stream.audio, .audio, url) + tracks(stream.subtitles, .subtitles, url)
    }

    private static func tracks(_ tracks: [ResourceDescription.Stream.Track], _ type: Row.Kind, _ url: String) -> [Row] {
        tracks.map {
            Row(type: type, url: url, name: $0.name, language: $0.language, isDefault: $0.isDefault)
        }
    }
}
