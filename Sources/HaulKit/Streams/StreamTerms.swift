/// The settings and services for making a film from the playlist that a request brings.
struct StreamTerms: Sendable {
    let options: DownloadRequest.Stream
    /// The name that the user gave the film; `nil` if there is none.
    let suggestedName: String?
    /// The partial file with the log of earlier attempts; `nil` if there is none.
    let log: PartFile?
    /// Whether the request goes to the source that the log came from, to a new URL, or to a mirror.
    let source: LogSource
    let progress: StreamProgress
    let slots: StreamSlots
    /// Connections that the film may have at once.
    let mostConnections: Int
    /// Whether the application may name another link to the playlist.
    let mayRenewLink: Bool
    let time: EngineClock
    /// Passes a clause that the user should know to the logger, at `notice`.
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
    /// Takes a slot of the host if one is free and no download waits for the host. Returns whether it took a slot.
    let take: @Sendable (Origin) async -> Bool
    /// Gives a slot back. Returns `false` only after the downloader has been released.
    let give: @Sendable (Origin) async -> Bool
}
