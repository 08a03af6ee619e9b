/// Segments that a finished film lacks, because no server had them.
package struct FilmGaps: Sendable, Hashable, Codable {
    /// Place of a segment in a film.
    package struct Place: Sendable, Hashable, Codable {
        /// Index of the track in ``StreamFilm/tracks``.
        package let track: Int
        /// Media sequence number.
        package let number: Int64

        package init(track: Int, number: Int64) { (self.track, self.number) = (track, number) }
    }

    /// Number of missing segments.
    package let count: Int
    /// Places of up to four missing segments, spread over all gaps.
    package let places: [Place]

    /// Maximum number of places. Each place may cost a request when the user adds the same film again.
    private static let mostPlaces = 4

    /// - Returns: `nil` for a film without gaps.
    package init?(_ all: [Place]) {
        guard !all.isEmpty else { return nil }
        count = all.count
        let kept = min(all.count, Self.mostPlaces)
        places = (0..<kept).map { all[kept < 2 ? 0 : $0 * (all.count - 1) / (kept - 1)] }
    }
}

/// A finished film with gaps. It keeps its name until a new film with at most as many missing segments replaces it.
package struct ReplacedFilm: Sendable, Hashable, Codable {
    package let path: String
    package let file: FileStatus
    /// Number of segments that the film lacks.
    package let missing: Int

    package init(path: String, file: FileStatus, missing: Int) {
        (self.path, self.file, self.missing) = (path, file, missing)
    }
}

extension StreamLog {
    /// The segments that the film lacks; `nil` for a film without gaps, and for a recording of a live stream, whose
    /// segments do not come back.
    package var gaps: FilmGaps? {
        guard let film, !film.isLive else { return nil }
        return FilmGaps(
            tracks.sorted { $0.key < $1.key }.flatMap { index, track in
                track.segments.filter(\.value.isGap).keys.sorted().map { .init(track: Int(index), number: $0) }
            }
        )
    }
}
