internal import Foundation

/// Compares the lengths of a film's tracks.
extension StreamLog {
    /// Lines about sound tracks that end clearly before the film; empty if there is no such track.
    ///
    /// Even in a complete film, the end of the sound may differ from that of the pictures by one segment. Both lengths
    /// include gaps.
    package var shortSounds: [String] {
        guard let film, let whole = seconds(of: 0) else { return [] }
        let longest = tracks.values.flatMap { $0.segments.values.map(\.end.seconds) }.max() ?? 0
        let tolerance = min(Self.mostTolerance, max(Self.leastTolerance, 2 * longest))
        return film.tracks.enumerated().compactMap { index, track in
            guard track.role == .audio, let length = seconds(of: index), whole - length > tolerance else { return nil }
            let language = track.language.map { track.name == nil ? $0 : "(\($0))" }
            let name = ["the sound", track.name, language].compactMap(\.self).joined(separator: " ")
            let missing = Self.text(whole - length)
            return VisibleText.line(
                "\(missing) s at the end of \(name): it ends after \(Self.text(length)) s, the film after \(Self.text(whole)) s"
            )
        }
    }

    /// Bounds of the tolerated difference, in seconds.
    private static let leastTolerance = 2.0
    private static let mostTolerance = 10.0

    private static func text(_ seconds: Double) -> String { String(format: "%.1f", seconds) }

    /// Length of a track in seconds, with its gaps; `nil` for a track without segments.
    private func seconds(of index: Int) -> Double? {
        guard let track = tracks[UInt8(clamping: index)], !track.segments.isEmpty else { return nil }
        return track.segments.values.reduce(0) { $0 + $1.end.seconds }
    }
}
