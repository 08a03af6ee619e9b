/// The settings and services with which a request makes a film of a playlist.
struct StreamTerms: Sendable {
    let options: DownloadRequest.Stream
    /// The name that the user gave the film; `nil` if there is none.
    let suggestedName: String?
    /// The log that is there; `nil` if there is none.
    let log: PartFile?
    /// Source of the request, relative to that of the log.
    let source: LogSource
    let progress: StreamProgress
    let slots: StreamSlots
    /// Connections that the film may have at once.
    let mostConnections: Int
    /// Whether the application may name another link to the playlist.
    let mayRenewLink: Bool
    let time: EngineClock
    /// Logs a clause about the film that the user should know.
    let notice: @Sendable (String) -> Void
    /// Returns the path of ffmpeg; `nil` if it is not installed.
    let ffmpeg: @Sendable () -> String?

    func pause(_ duration: Duration) async {
        // A cancelled sleep ends the pause.
        try? await time.sleep(duration)
    }
}

/// Connection slots for the segments of a film, within the limits of each host.
struct StreamSlots: Sendable {
    /// Takes a slot of the host if one is free and nobody waits for the host.
    let take: @Sendable (Origin) async -> Bool
    /// Gives a slot back.
    let give: @Sendable (Origin) async -> Bool
}
