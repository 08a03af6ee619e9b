/// The reason why a download is held. A hold is a pause that the user did not request; it ends when its reason ends.
public enum HoldReason: String, Sendable, Hashable, Codable, CaseIterable {
    /// The machine has no network, or the interface that ``Downloader/Configuration/Network/binding`` names is down.
    case offline
    /// The network is metered, and the configuration does not allow downloads on metered networks.
    case metered
    /// The timetable allows no downloads at this time.
    case outsideHours
    /// The disk is full, or has no more than the reserved space left
    /// (``Downloader/Configuration/Storage/reservedDiskSpace``).
    case diskFull
    /// The files of the downloader have reached ``Downloader/Configuration/Storage/diskQuota``.
    case quota
}
