public import CoreMetrics
public import Logging

extension Downloader.Configuration {
    /// Programs, webhooks and desktop notifications that events start. ``Downloader/update(_:)`` changes ``actions``;
    /// the other values are read when the downloader opens.
    public struct Hooks: Sendable {
        /// Programs, webhooks and desktop notifications to run when downloads start and end. Default: none.
        public var actions: [Downloader.Hook] = []
        /// Time limit of a program. When the time is over, the program and its child processes get SIGTERM, and SIGKILL
        /// three seconds later. Default: 60 s.
        public var commandTime = Duration.seconds(60)
        /// Time that ``Downloader/shutDown()`` gives to deliveries that run or wait. Default: 10 s.
        public var shutDownTime = Duration.seconds(10)
        /// Limits of the number and time of deliveries, besides ``commandTime``. Read when the downloader opens.
        package var limits = HookLimits()
        /// Called with a text for the log for each program that failed and each message that was given up. The text has
        /// no secrets. Read when the downloader opens.
        package var onFailure: (@Sendable (_ text: String) -> Void)?
        /// Shows the notifications of ``Downloader/Hook/desktopNotification(on:)``. `nil`, the default: no notification
        /// is shown. The product `HaulDesktop` shows them on the desktop of this user: `import HaulDesktop` and
        /// `configuration.useDesktopServices()`.
        public var notifier: (any Notifier)? {
            get { assignedNotifier.value }
            set { assignedNotifier = Assigned(newValue) }
        }

        var assignedNotifier = Assigned<(any Notifier)?>(initial: nil)

        package init() {}
    }

    /// Destinations of logs and metrics. Read when the downloader opens.
    public struct Telemetry: Sendable {
        /// Receives the metrics, which `docs/metrics.md` lists. `nil`, the default: the factory of `MetricsSystem`
        /// receives them.
        public var metrics: (any MetricsFactory)? {
            get { assignedMetrics.value }
            set { assignedMetrics = Assigned(newValue) }
        }
        /// Receives the log. Lines at `info` report when a download gets a slot and when its run ends, with the
        /// metadata `download` (the id) and `group`. Lines at `debug` report other changes of state, and faults that
        /// end no download. URLs are masked. Default: no output.
        public var logger: Logger {
            get { assignedLogger.value }
            set { assignedLogger = Assigned(newValue) }
        }

        /// Records every event of every download, for a replay; `nil` for no recording.
        package var trace: DownloadTrace?

        var assignedMetrics = Assigned<(any MetricsFactory)?>(initial: nil)
        var assignedLogger = Assigned(initial: Logger(label: "haul") { _ in SwiftLogNoOpLogHandler() })

        package init() {}
    }

    /// The provider of URLs that requests lack, and its time limit. ``Downloader/update(_:)`` changes both values.
    public struct Sources: Sendable {
        /// Returns a URL when a download has none, when a server refuses the URL, and before the URL expires. `nil`,
        /// the default: an expired URL ends the download like any refusal.
        ///
        /// A provider that is set later is called for downloads that start after the change. If the provider is
        /// removed, running downloads behave as if it threw.
        public var provider: SourceProvider?
        /// Time limit for one call of ``provider``. With zero or less every call times out. Default: 30 s.
        public var timeout = Duration.seconds(30)
        /// Whether ``provider`` is asked only for downloads whose request has no URL (`DownloadRequest(key:to:)`). A refused
        /// or expired URL of another request then ends the download.
        package var areForRequestsWithoutURL = false

        package init() {}

        /// Whether ``provider`` may be asked for a download.
        func mayServe(_ request: DownloadRequest) -> Bool {
            provider != nil && (!areForRequestsWithoutURL || request.needsSource)
        }
    }
}
