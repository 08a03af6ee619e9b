public import CoreMetrics
internal import Foundation
public import Logging

/// The settings of a downloader. Every value has a default that suits a machine on the open internet. Read once when
/// the downloader opens; `Downloader`'s `set…` methods change some of the values later.
public struct Configuration: Sendable {
    /// What a downloader does with the downloads that earlier runs left in its store.
    public enum Restoration: Sendable, Hashable {
        /// Restores every download: downloads that ran are queued again, paused downloads stay paused. The process owns
        /// the name exclusively.
        case everything
        /// Restores only downloads that are added again. Several downloaders, in several processes, may share the name.
        case onRequest
    }

    /// Identifies the store. Downloaders with different names share nothing. Default: `default`.
    public var name = "default"
    /// Path of the folder that holds the stores. Readable by its owner only, since header fields may hold secrets.
    public var stateFolder: String
    /// Absolute path of a folder that the system may move between two runs: paths that an earlier run stored below it
    /// are resolved below its present path. `nil`: no folder moves. Default: the application's container on systems
    /// that give it another path with each update (iOS and its kin; not tried on such a machine), `nil` elsewhere.
    public var movingRoot = Self.defaultMovingRoot
    /// What happens to the downloads of earlier runs. Default: ``Restoration/everything``.
    public var restoration = Restoration.everything
    /// Whether downloads that ran when an earlier process ended are queued again, with ``Restoration/everything``;
    /// otherwise they are paused. Downloads that the user paused stay paused in either case. Default: `true`.
    public var resumesAtStart = true
    /// Hours in which downloads run, and the speed limit of all downloads in each; `nil` for always.
    /// ``Downloader/setTimetable(_:)`` changes it later.
    public var timetable: Timetable?
    /// Whether downloads are held (``HoldReason/offline``) while no network leads to other machines, and continue when
    /// a network does. Downloads from this machine itself are not held, nor are any on a machine that has no network
    /// interface but loopback. Default: `true`. ``Downloader/setNetworkPolicy(waitsForNetwork:allowsMetered:)`` changes
    /// it later.
    public var waitsForNetwork = true
    /// Whether downloads may run on a metered network, as reported by ``networkMeter`` or ``networkMonitor``. Otherwise
    /// they are held (``HoldReason/metered``). A network of which it is not known counts as not metered. Default:
    /// `true`. ``Downloader/setNetworkPolicy(waitsForNetwork:allowsMetered:)`` changes it later.
    public var allowsMetered = true
    /// Reports the state of the network; `nil` for ``SystemNetworkMonitor``, which knows the interfaces, and with
    /// ``networkMeter`` whether the network is metered.
    public var networkMonitor: (any NetworkMonitor)?
    /// Reports whether the network is metered, in addition to ``SystemNetworkMonitor``; not used with another
    /// ``networkMonitor``. `nil`: it is not known, and ``allowsMetered`` has no effect. The product `HaulDesktop` asks
    /// NetworkManager: `import HaulDesktop` and `configuration.useDesktopServices()`.
    public var networkMeter: (any NetworkMeter)?
    /// Largest number of downloads that run at once, at least 1; the limit of open files may lower it. The others wait
    /// by priority, then in the order in which they were added. Default: 3.
    /// ``Downloader/setLimits(active:perHost:spacing:)`` changes it later.
    public var activeDownloads = 3
    /// Largest number of downloads that run at once from one host; `nil` for no limit but ``activeDownloads``.
    public var activeDownloadsPerHost: Int?
    /// Shortest time between two starts of downloads from one host. Default: zero.
    public var hostSpacing = Duration.zero
    /// Whether a download of higher priority takes the slot of a running download of lower priority, which then waits
    /// again. Otherwise it waits for the next free slot. Default: `false`.
    public var preempts = false
    /// Largest number of connections of a download, at least 1. Haul measures how many to use: it keeps an additional
    /// connection only if the download becomes faster. Default: 16.
    public var connectionsPerDownload = 16
    /// Number of connections that a download opens at its start, without measuring. Default: 1.
    public var initialConnections = 1
    /// Largest number of connections to a host, over all downloads. Default: 8.
    public var connectionsPerHost = 8
    /// Smallest range that a connection is opened for, in bytes. Default: 256 KiB.
    public var smallestPiece: Int64 = 256 << 10
    /// Speed limit of all downloads together, in bytes per second; `nil`, 0 or a negative number for no limit. Default: `nil`.
    /// ``Downloader/setSpeedLimit(_:)`` changes it later.
    public var bytesPerSecond: Int64?
    /// Whether a download that finds no room on the disk is held until there is some (``HoldReason/diskFull``,
    /// ``HoldReason/quota``). Otherwise it fails with ``DownloadError/Code/diskFull``. A file that is larger than the
    /// disk or the quota fails in either case. Default: `true`.
    public var waitsForSpace = true
    /// Bytes of each disk that downloads leave free. Default: 0.
    public var reservedDiskSpace: Int64 = 0
    /// Largest number of bytes that the files of this downloader may take, finished and unfinished together; `nil` for
    /// no limit. An unfinished file counts with its complete length, a finished file as long as its record is kept and
    /// its file exists.
    public var diskQuota: Int64?
    /// Number of attempts of a download, and the delays between them. The defaults are those of ``RetryPolicy``.
    public var retry = RetryPolicy()
    /// Time limit for setting up TCP and TLS. Default: 20 s.
    public var connectTimeout = Duration.seconds(20)
    /// Longest silence of a server, before the response and within it; then the attempt has failed. Default: 60 s.
    public var stallTimeout = Duration.seconds(60)
    /// Called for a URL when a download has none, when a server refuses the URL, and before the URL expires. `nil`: an
    /// expired URL ends the download like any refusal.
    public var sourceProvider: SourceProvider?
    /// Time limit for one call of ``sourceProvider``. Default: 30 s.
    public var sourceTimeout = Duration.seconds(30)
    /// Interface or local address to connect from; `nil` lets the system route.
    public var binding: NetworkBinding?
    /// Proxies for `http` and `https` URLs. Default: none; ``ProxySettings/environment(_:)`` reads the usual variables.
    public var proxies = ProxySettings.direct
    /// User names and passwords by host. ``Netrc/init(contentsOfFile:)`` reads a file. Check
    /// ``Netrc/isReadableByOthers``: the downloader does not check the file's permissions.
    public var netrc: Netrc?
    /// Cookies that every download starts with. Cookies that a server sets are kept for the run of each download,
    /// shared by its connections, and sent only to the origin that set them.
    public var cookies = Cookies()
    /// Whether ``Downloader/cookies`` also holds the cookies that servers set. Default: `false`.
    public var collectsCookies = false
    /// Path of a PEM file with certificates to trust in addition to the system's.
    public var certificateAuthorities: String?
    /// Value of the `User-Agent` field (RFC 9110 §10.1.5) of requests that do not set their own, and of webhooks.
    /// Default: `haul/` and the version.
    public var userAgent = "haul/" + haulVersion
    /// Time between two reports of progress. Received ranges are recorded twice as often: a SIGKILL costs at most the
    /// bytes of half this interval, plus the 50 ms that a buffer may wait to be written and the time that the store
    /// takes. Default: 200 ms.
    public var markInterval = Duration.milliseconds(200)
    /// Time between two syncs of a file's data: what a power loss costs at most. Default: 4 s.
    public var syncInterval = Duration.seconds(4)
    /// Programs, webhooks and desktop notifications to run when downloads start and end. ``Downloader/setHooks(_:)``
    /// changes them later.
    public var hooks: [Hook] = []
    /// Time and number limits of ``hooks``.
    public var hookLimits = HookLimits()
    /// Shows the notifications of ``Hook/desktopNotification(on:)``; `nil`: they are not shown. The product
    /// `HaulDesktop` shows them on the desktop of this user: `import HaulDesktop` and
    /// `configuration.useDesktopServices()`.
    public var notifier: (any Notifier)?
    /// Called with the path of the store's file when another program has kept it locked for some seconds; the
    /// downloader waits for some more.
    package var onStoreWait: (@Sendable (_ path: String) -> Void)?
    /// Called once for each row of the store that cannot be read, with its id and URL as far as they can be read.
    package var onOddRow: (@Sendable (_ name: String) -> Void)?
    /// Records every event of every download, for a replay; `nil`: nothing is recorded.
    package var trace: DownloadTrace?
    /// Number of event loops that the process will have; `nil` when unknown.
    package var eventLoops: Int?
    /// Largest number of bytes written with one call.
    var batchBytes = 512 << 10
    /// Receives the metrics (`docs/metrics.md` lists them); `nil`: the factory of `MetricsSystem`.
    public var metrics: (any MetricsFactory)?
    /// Logs at `debug` only: outcomes are events, not log lines. Default: no output.
    public var logger = Logger(label: "haul") { _ in SwiftLogNoOpLogHandler() }

    /// A configuration with default values.
    ///
    /// - Parameter stateFolder: path of ``stateFolder``. `nil`: `$HAUL_STATE_DIR`, else `$XDG_STATE_HOME/haul`, else
    ///   `$HOME/.local/state/haul`.
    public init(stateFolder: String? = nil) {
        self.stateFolder = stateFolder ?? Self.defaultStateFolder(ProcessInfo.processInfo.environment)
    }

    var queueLimits: DownloadQueue.Limits {
        .init(
            active: activeDownloads,
            activePerHost: activeDownloadsPerHost,
            hostSpacing: hostSpacing,
            preempts: preempts
        )
    }

    private static var defaultMovingRoot: String? {
        #if os(iOS) || os(tvOS) || os(watchOS) || os(visionOS)
            NSHomeDirectory()
        #else
            nil
        #endif
    }

    static func defaultStateFolder(_ environment: [String: String]) -> String {
        if let folder = environment["HAUL_STATE_DIR"], !folder.isEmpty { return folder }
        // The XDG Base Directory Specification requires relative paths to be ignored.
        if let state = environment["XDG_STATE_HOME"], state.hasPrefix("/") { return FilePaths.join(state, "haul") }
        #if canImport(Darwin)
            // Not tested on such a machine.
            let folders = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask)
            if let support = folders.first { return FilePaths.join(support.path, "haul") }
        #endif
        return HomeFolder.path(".local/state/haul", environment)
    }
}

/// The version of the library and of the command.
public let haulVersion = "0.1.0"
