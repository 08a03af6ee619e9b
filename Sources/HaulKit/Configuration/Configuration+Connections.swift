extension Downloader.Configuration {
    /// Number and time limits of connections. ``Downloader/update(_:)`` changes every value. The two time limits apply
    /// to requests that are sent after the change.
    public struct Connections: Sendable, Hashable {
        /// Largest number of connections of a download; less than 1 counts as 1. Haul measures how many to use: it
        /// keeps an additional connection only if the download becomes faster. A change applies to downloads that start
        /// later. Default: 16.
        public var maxPerDownload = 16
        /// Number of connections that a download opens at its start, without measuring; less than 1 counts as 1. A
        /// change applies to downloads that start later. Default: 1.
        public var initial = 1
        /// Largest number of connections to a host, over all downloads; less than 1 counts as 1. When the limit is
        /// lowered, open connections continue. Default: 16.
        public var maxPerHost = 16
        /// Smallest range that a connection is opened for, in bytes; less than 1 counts as 1. A change applies to
        /// downloads that start later. Default: 256 KiB.
        public var smallestPiece: Int64 = 256 << 10
        /// Whether the last mebibyte of a film or of music is fetched early, because a player often finds the index
        /// there. Applies to files of at least 16 MiB. One of the additional connections fetches the mebibyte; none is
        /// opened for it alone. A change applies to downloads that start later. Default: `false`.
        public var fetchesMediaEndEarly = false
        /// Time limit for setting up TCP and TLS. With zero or less every attempt times out; there is no value for "no
        /// limit". Default: 20 s.
        public var connectTimeout = Duration.seconds(20)
        /// Longest time without bytes from the server, before or within the response. A longer silence fails the
        /// attempt. With zero or less every attempt times out. Default: 60 s.
        public var stallTimeout = Duration.seconds(60)

        package init() {}
    }
}
