/// What a request needs to make a film of a playlist.
struct StreamTerms: Sendable {
    let options: DownloadRequest.Stream
    /// Reads the log that is there, from an offset; `nil` if there is none.
    let log: StreamLogReader.Read?
    let progress: StreamProgress
    let slots: StreamSlots
    /// Connections that the film may have at once.
    let mostConnections: Int
    let time: EngineClock
    /// Path of ffmpeg; `nil` if it is not installed.
    let ffmpeg: String?
}

/// Connection slots for the segments of a film, within the limits of each host.
struct StreamSlots: Sendable {
    /// Takes a slot of the host if one is free.
    let take: @Sendable (Origin) async -> Bool
    /// Waits for a slot of the host, as a first connection does.
    let wait: @Sendable (Origin) async -> Void
    let give: @Sendable (Origin) async -> Void

    /// Slots without a limit, for tests.
    static let unlimited = StreamSlots(take: { _ in true }, wait: { _ in }, give: { _ in })
}
