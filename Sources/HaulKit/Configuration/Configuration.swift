internal import Foundation

extension Downloader {
    /// The settings of a downloader, in groups. Every value has a default that suits a machine on the open internet.
    ///
    /// ```swift
    /// var configuration = Downloader.Configuration(name: "books")
    /// configuration.queue.maxConcurrentDownloads = 8
    /// configuration.network.allowsMetered = false
    /// let downloader = try await Downloader(configuration)
    /// ```
    ///
    /// ``Downloader/update(_:)`` changes most settings while the downloader runs. ``Downloader/configuration`` returns
    /// the present values.
    public struct Configuration: Sendable {
        /// Limits, order and hours of the queue.
        public var queue = Queue()
        /// Number and time limits of connections.
        public var connections = Connections()
        /// The networks and servers that downloads use, and how downloads identify themselves.
        public var network = Network()
        /// Location of the state, and limits of disk space.
        public var storage: Storage
        /// Number of attempts of a download, and the delays between them. The defaults are those of ``RetryPolicy``. A
        /// change by ``Downloader/update(_:)`` applies to runs that start later.
        public var retry = RetryPolicy()
        /// Programs, webhooks and desktop notifications that events start.
        public var hooks = Hooks()
        /// Destinations of logs and metrics.
        public var telemetry = Telemetry()
        /// The provider of URLs that requests lack, and its time limit.
        public var sources = Sources()

        /// A configuration with default values.
        ///
        /// - Parameters:
        ///   - name: ``Storage/name``, which identifies the store.
        ///   - stateFolder: path of ``Storage/stateFolder``. `nil`: `$HAUL_STATE_DIR`, else `$XDG_STATE_HOME/haul`,
        ///     else `$HOME/.local/state/haul`.
        public init(name: String = "default", stateFolder: String? = nil) {
            storage = Storage(name: name, stateFolder: stateFolder)
        }
    }
}

extension Downloader.Configuration {
    func queueLimits(within descriptors: DescriptorBudget) -> DownloadQueue.Limits {
        .init(
            active: min(max(1, queue.maxConcurrentDownloads), descriptors.downloads),
            activePerHost: queue.maxPerHost.map { max(1, $0) },
            hostSpacing: max(.zero, queue.hostSpacing),
            preempts: queue.preempts,
            backingOff: descriptors.backingOff
        )
    }
}

extension Downloader {
    /// The version of HaulKit, such as `0.1.0`.
    public static let version = HaulVersion.text
}
