public import CoreMetrics
public import Logging

extension Downloader.Configuration {
    /// Programs, webhooks and desktop notifications that events start. ``Downloader/update(_:)`` changes ``actions``; the
    /// others are read when the downloader opens.
    public struct Hooks: Sendable {
        /// Programs, webhooks and desktop notifications to run when downloads start and end. Default: none.
        public var actions: [Downloader.Hook] = []
        /// Time and number limits of ``actions``.
        public var limits = HookLimits()
        /// Shows the notifications of ``Downloader/Hook/desktopNotification(on:)``; `nil`, the default: they are not shown. The
        /// product `HaulDesktop` shows them on the desktop of this user: `import HaulDesktop` and
        /// `configuration.useDesktopServices()`.
        public var notifier: (any Notifier)? {
            get { assignedNotifier.value }
            set { assignedNotifier = Assigned(newValue) }
        }

        var assignedNotifier = Assigned<(any Notifier)?>(initial: nil)

        /// The default values.
        public init() {}
    }

    /// Where logs and metrics go. Read when the downloader opens.
    public struct Telemetry: Sendable {
        /// Receives the metrics (`docs/metrics.md` lists them); `nil`, the default: the factory of `MetricsSystem`.
        public var metrics: (any MetricsFactory)? {
            get { assignedMetrics.value }
            set { assignedMetrics = Assigned(newValue) }
        }
        /// Gets a line at `info` when a download gets a slot and when its run ends, with `download` (its id) and `group` as
        /// metadata, and lines at `debug` for changes between and for faults beside a download. URLs are masked. Default: no
        /// output.
        public var logger: Logger {
            get { assignedLogger.value }
            set { assignedLogger = Assigned(newValue) }
        }

        /// Records every event of every download, for a replay; `nil`: nothing is recorded.
        package var trace: DownloadTrace?

        var assignedMetrics = Assigned<(any MetricsFactory)?>(initial: nil)
        var assignedLogger = Assigned(initial: Logger(label: "haul") { _ in SwiftLogNoOpLogHandler() })

        /// The default values.
        public init() {}
    }

    /// Where URLs come from that the requests do not have. ``Downloader/update(_:)`` changes both values.
    public struct Sources: Sendable {
        /// Called for a URL when a download has none, when a server refuses the URL, and before the URL expires. `nil`,
        /// the default: an expired URL ends the download like any refusal. A provider where there was none is called for downloads that
        /// start later; one that is taken away is as one that throws.
        public var provider: SourceProvider?
        /// Time limit for one call of ``provider``. Zero or less: every call times out. Default: 30 s.
        public var timeout = Duration.seconds(30)

        /// The default values.
        public init() {}
    }
}
