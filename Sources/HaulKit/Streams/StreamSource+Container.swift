/// Chooses the container of a film.
extension StreamSource {
    /// Whether the segments of pictures and sound are fragments of MP4.
    private var isFragmented: Bool {
        tracks.allSatisfy { track in
            track.description.role == .subtitles || track.playlist.segments.contains { $0.map != nil }
        }
    }

    /// Whether a track goes on with other parameters somewhere.
    private var hasSeams: Bool {
        tracks.contains { track in
            let first = track.playlist.segments.first
            return track.playlist.segments.contains {
                $0.map != first?.map || $0.discontinuityNumber != first?.discontinuityNumber
            }
        }
    }

    /// Returns the container of the finished file.
    ///
    /// - Throws: an error that names ffmpeg if the film needs it and it is not there.
    func container(_ options: DownloadRequest.Stream, ffmpeg: String?) throws(SegmentFailure) -> StreamFilm.Container {
        let isPlain = tracks.count == 1 && !hasSeams
        let wanted = options.container
        guard wanted != .transportStream || !hasSubtitles else {
            throw SegmentFailure(Self.noSubtitlesInTransportStream, isWorthRetrying: false)
        }
        // Whether Haul puts the file together itself.
        let isOwn =
            switch wanted {
            case .automatic: isFragmented ? !hasSeams && !hasSubtitles : isPlain
            case .transportStream: isPlain && !isFragmented
            case .mp4: isFragmented && !hasSeams && !hasSubtitles
            case .matroska: false
            }
        if isOwn {
            return isFragmented ? .mp4 : wanted == .automatic && ffmpeg != nil ? .mp4ByProgram : .transportStream
        }
        guard ffmpeg != nil else {
            throw SegmentFailure(
                DownloadError(
                    .programMissing,
                    "This stream \(reason(wanted)), which needs ffmpeg. Install the package ffmpeg, then resume the download."
                ),
                isWorthRetrying: false
            )
        }
        return switch wanted {
        case .automatic, .mp4: .mp4ByProgram
        case .matroska: .matroska
        case .transportStream: .transportStreamByProgram
        }
    }

    static let noSubtitlesInTransportStream = DownloadError(
        .invalidStream,
        "An MPEG transport stream (ts) takes no subtitles. Choose mp4 or mkv, or leave the subtitles out."
    )

    private var hasSubtitles: Bool { tracks.contains { $0.description.role == .subtitles } }

    private func reason(_ wanted: DownloadRequest.Stream.Container) -> String {
        if hasSubtitles { return "has subtitles to be put into the film" }
        if hasSeams { return "changes its parameters in the middle" }
        if tracks.count > 1 { return "has its sound apart from its pictures" }
        return "is to become a file of another container (\(wanted.rawValue))"
    }
}
