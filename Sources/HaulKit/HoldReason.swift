/// Why a download is paused although nobody asked for that. It goes on by itself when the reason is gone.
public enum HoldReason: String, Sendable, Hashable, Codable, CaseIterable {
    /// There is no network, or the one to use is down.
    case offline
    /// The network is metered, and the configuration bars downloads from such.
    case metered
    /// The timetable allows no downloads now.
    case outsideHours
    /// The disk is full, or has no more than what is to be kept free.
    case diskFull
    /// The downloader's own share of the disk is used up.
    case quota
}
