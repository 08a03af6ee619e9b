/// Properties of a film that decide how its segments become one file.
package struct FilmShape: Sendable, Hashable {
    package var trackCount: Int
    /// Whether the segments of pictures and sound are fragments of MP4.
    package var isFragmented: Bool
    package var hasSubtitles: Bool
    /// Whether the parameters of a track change in the middle, at another initialization section or discontinuity.
    package var hasSeams: Bool

    package init(trackCount: Int, isFragmented: Bool, hasSubtitles: Bool, hasSeams: Bool) {
        (self.trackCount, self.isFragmented) = (trackCount, isFragmented)
        (self.hasSubtitles, self.hasSeams) = (hasSubtitles, hasSeams)
    }

    /// Whether the segments, one behind another, are a complete file: a transport stream, or packed audio.
    package var isPlain: Bool { trackCount == 1 && !hasSeams && !isFragmented }

    /// Whether the tracks become one MP4 without ffmpeg.
    package var isMergeable: Bool { isFragmented && !hasSeams && !hasSubtitles }

    /// Returns the container that a request asks for; `nil` if it asks for none.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/invalidStream`` for a transport stream with
    ///   subtitles.
    package func container(_ wanted: DownloadRequest.Stream.Container) throws(DownloadError) -> StreamFilm.Container? {
        switch wanted {
        case .automatic: return nil
        case .matroska: return .matroska
        case .mp4: return isMergeable ? .mp4 : .mp4ByProgram
        case .transportStream:
            guard !hasSubtitles else {
                throw DownloadError(
                    .invalidStream,
                    "An MPEG transport stream (ts) takes no subtitles. Choose mp4 or mkv, or leave the subtitles out."
                )
            }
            return isPlain ? .transportStream : .transportStreamByProgram
        }
    }
}
