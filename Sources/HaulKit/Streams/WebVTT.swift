internal import Foundation

/// Joins the WebVTT segments of a subtitles track into one text.
enum WebVTT {
    /// Returns the cues of all segments, each once, with the times of the film.
    static func text(
        _ track: StreamAssembly.Track,
        of assembly: StreamAssembly,
        on timeline: StreamTimeline
    ) throws(DownloadError) -> String {
        var seen: Set<String> = []
        var text = "WEBVTT\n\n"
        for (number, ranges) in track.parts.flatMap({ part in part.segments.map { (part.discontinuity, $0) } }) {
            guard ranges.reduce(0, { $0 + $1.count }) <= mostBytes else {
                let most = QuantityText.bytes(Int64(mostBytes))
                throw DownloadError(.invalidStream, "A segment of the subtitles is longer than \(most).")
            }
            var bytes: [UInt8] = []
            do throws(DiskError) {
                for range in ranges {
                    bytes += try assembly.part.file.read(at: range.lowerBound, count: range.count)
                }
            } catch { throw DownloadError(error) }
            let cues = cues(String(decoding: bytes, as: UTF8.self)) { timeline.film($0, in: number) }
            for cue in cues where seen.insert(cue).inserted {
                text += cue + "\n\n"
            }
        }
        return text
    }

    private static let mostBytes = 16 << 20

    /// Returns the cues of a segment: its blocks with a line of times. A cue that spans segments is in each of them.
    ///
    /// - Parameter film: returns the film's seconds for a time of the segment's clock.
    private static func cues(_ text: String, film: (Double) -> Double) -> [String] {
        let lines = text.replacingOccurrences(of: "\r\n", with: "\n").replacingOccurrences(of: "\r", with: "\n")
        let shift = shift(lines)
        return lines.components(separatedBy: "\n\n").compactMap { block in
            var block = block.split(separator: "\n", omittingEmptySubsequences: true).map(String.init)
            guard let index = block.firstIndex(where: { $0.contains("-->") }), index <= 1 else { return nil }
            let parts = block[index].components(separatedBy: "-->")
            guard parts.count == 2, let start = seconds(parts[0]) else { return nil }
            let rest = parts[1].trimmingCharacters(in: .whitespaces).split(separator: " ", maxSplits: 1).map(
                String.init
            )
            guard let first = rest.first, let end = seconds(first) else { return nil }
            let settings = rest.count > 1 ? " " + rest[1] : ""
            let begin = film(start + shift)
            block[index] = "\(time(begin)) --> \(time(begin + end - start))\(settings)"
            return block[index...].joined(separator: "\n")
        }
    }

    /// Seconds that the header adds to the times (`X-TIMESTAMP-MAP`, RFC 8216 §3.5).
    private static func shift(_ text: String) -> Double {
        guard let line = text.prefix(4096).split(separator: "\n").first(where: { $0.hasPrefix("X-TIMESTAMP-MAP=") })
        else {
            return 0
        }
        var (ticks, local) = (0.0, 0.0)
        for field in line.dropFirst("X-TIMESTAMP-MAP=".count).split(separator: ",") {
            if field.hasPrefix("MPEGTS:") {
                let number = UInt64(field.dropFirst(7).trimmingCharacters(in: .whitespaces)) ?? 0
                // The clock of a transport stream has 33 bits (ISO/IEC 13818-1 §2.4.3.7).
                ticks = number < 1 << 33 ? Double(number) : 0
            }
            if field.hasPrefix("LOCAL:") { local = seconds(String(field.dropFirst(6))) ?? 0 }
        }
        return ticks / 90_000 - local
    }

    private static func seconds(_ text: String) -> Double? {
        let fields = text.trimmingCharacters(in: .whitespaces).split(separator: ":", omittingEmptySubsequences: false)
        guard (2...3).contains(fields.count) else { return nil }
        var seconds = 0.0
        for field in fields {
            guard let number = Double(field), number >= 0, number < 1e6 else { return nil }
            seconds = seconds * 60 + number
        }
        return seconds
    }

    private static func time(_ seconds: Double) -> String {
        let milliseconds = Int((max(0, seconds) * 1000).rounded())
        let (minutes, rest) = (milliseconds / 60_000, milliseconds % 60_000)
        return String(format: "%02d:%02d:%02d.%03d", minutes / 60, minutes % 60, rest / 1000, rest % 1000)
    }
}
