extension Downloader.Configuration {
    /// Which downloads run, when, and how many at once. ``Downloader/update(_:)`` changes every value.
    public struct Queue: Sendable, Hashable {
        /// Largest number of downloads that run at once; less than 1 counts as 1, and the limit of open files may lower
        /// it. The others wait by priority, then in the order in which they were added. Running downloads continue when
        /// it is lowered; the next start when fewer run. A download that waits for more than 2 s before its next attempt
        /// does not count. Default: 3.
        public var maxConcurrentDownloads = 3
        /// Largest number of downloads that run at once from one host, at least 1; `nil` for no limit but
        /// ``maxConcurrentDownloads``. Default: `nil`.
        public var maxPerHost: Int?
        /// Shortest time between two starts of downloads from one host. Default: zero.
        public var hostSpacing = Duration.zero
        /// Whether a download of higher priority takes the slot of a running download of lower priority, which then
        /// waits again. Otherwise it waits for the next free slot. Default: `false`.
        public var preempts = false
        /// Hours in which downloads run, and the speed limit of all downloads in each; `nil` for always. Default: `nil`.
        public var timetable: Timetable?

        /// The default values.
        public init() {}
    }
}
