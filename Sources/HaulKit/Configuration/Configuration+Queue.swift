extension Downloader.Configuration {
    /// Limits, order and hours of the queue. ``Downloader/update(_:)`` changes every value.
    public struct Queue: Sendable, Hashable {
        /// Largest number of downloads that run at once; less than 1 counts as 1, and the limit of open files may lower
        /// the number. The others wait by priority, then in the order of the queue. Default: 3.
        ///
        /// When the number is lowered, running downloads continue, and waiting ones start once fewer run. A download
        /// that waits for more than 2 s before its next attempt does not count.
        public var maxConcurrentDownloads = 3
        /// Largest number of downloads that run at once from one host; less than 1 counts as 1. `nil`: no limit but
        /// ``maxConcurrentDownloads``. Default: `nil`.
        public var maxPerHost: Int?
        /// Shortest time between two starts of downloads from one host. Default: zero.
        public var hostSpacing = Duration.zero
        /// Whether a download of higher priority takes the slot of a running download of lower priority, which then
        /// waits again. With `false`, the download of higher priority waits for the next free slot. Default: `false`.
        public var preempts = false
        /// Hours in which downloads run, and the speed limit of all downloads in each. `nil`, the default: downloads
        /// always run.
        public var timetable: Timetable?

        package init() {}
    }
}
