public import CoreMetrics
internal import Foundation
public import Logging

/// How a downloader works. Every value has a default that fits a machine on the open internet.
public struct Configuration: Sendable {
    /// What a downloader does with what earlier runs left in its store.
    public enum Restoration: Sendable, Hashable {
        /// Takes over everything: what ran is queued again, what was paused stays paused. Owns the name exclusively.
        case everything
        /// Takes over only what is asked for again. Several downloaders, in several processes, may share the name.
        case onRequest
    }

    /// Names the store. Downloaders of different names know nothing of one another.
    public var name = "default"
    /// Folder of the stores. Readable by its owner alone, since headers may hold secrets.
    public var stateFolder: String
    /// A folder that the system may move between two runs, an absolute path: what an earlier run left below it is looked for below
    /// where it is now. Nil: nothing moves. It is the application's container on systems that give it another path with each
    /// update (iOS and its kin; not tried on such a machine), and nil elsewhere.
    public var movingRoot = Self.defaultMovingRoot
    public var restoration = Restoration.everything
    /// Whether what ran when an earlier process ended runs again by itself, with ``Restoration/everything``. Otherwise it is
    /// paused. What the user paused stays paused either way.
    public var resumesAtStart = true
    /// Hours in which downloads run, and how fast all together; nil for always.
    public var timetable: Timetable?
    /// Whether downloads pause by themselves while there is no network to go out through, and go on when there is. Those from
    /// this machine itself are not regarded, nor is a machine without any network.
    public var waitsForNetwork = true
    /// Whether downloads may run while somebody pays for what goes through the network, where the system says so.
    public var allowsMetered = true
    /// Says how the network is; nil for the system's own word.
    public var networkMonitor: (any NetworkMonitor)?
    /// Downloads that run at once; the others wait in the order of their priority, and then in that in which they were added.
    public var activeDownloads = 3
    /// Downloads that run at once from one host; nil for no limit but ``activeDownloads``.
    public var activeDownloadsPerHost: Int?
    /// Least time between two starts of downloads from one host.
    public var hostSpacing = Duration.zero
    /// Whether a download of higher priority takes the slot of a running one of lower priority, which then waits again.
    /// Otherwise it waits for the next free slot.
    public var preempts = false
    /// Most connections of a download. How many it really has is found out while it runs: further ones are kept only where
    /// they make it faster.
    public var connectionsPerDownload = 16
    /// Connections that a download has from the beginning, without finding out.
    public var initialConnections = 1
    /// Most connections to a host, over all downloads.
    public var connectionsPerHost = 8
    /// A connection is given no less than this many bytes to fetch.
    public var smallestPiece: Int64 = 256 << 10
    /// Most bytes a second, all downloads together; nil for no limit. ``Downloader/setSpeedLimit(_:)`` changes it later.
    public var bytesPerSecond: Int64?
    /// Whether a download for which the disk has no room is paused until there is some (``HoldReason/diskFull``,
    /// ``HoldReason/quota``), and then goes on by itself. Otherwise it fails with ``DownloadError/Code/diskFull``, as does in
    /// either case one that is larger than the disk.
    public var waitsForSpace = true
    /// Bytes of each disk that downloads leave free. None by default: how much a machine needs, only its owner knows.
    public var reservedDiskSpace: Int64 = 0
    /// Most bytes that the files of this downloader may take, finished and unfinished ones together; nil for no limit. An
    /// unfinished file counts with its whole length, a finished one as long as its record is kept and its file is there.
    public var diskQuota: Int64?
    public var retry = RetryPolicy()
    /// Time for TCP and TLS to be set up.
    public var connectTimeout = Duration.seconds(20)
    /// Longest silence of a server, before its answer and within it.
    public var stallTimeout = Duration.seconds(60)
    /// Asked for a URL where a download has none yet, where a server refuses the one that it has, and before a link expires.
    /// Nil: a link that expired ends the download, as any refusal does.
    public var sourceProvider: SourceProvider?
    /// Time for one answer of ``sourceProvider``.
    public var sourceTimeout = Duration.seconds(30)
    /// Which of the machine's networks connections go out through; nil leaves it to the system.
    public var binding: NetworkBinding?
    public var proxies = ProxySettings.direct
    /// Passwords by host. ``Netrc/init(contentsOfFile:)`` reads a file, and ``Netrc/isReadableByOthers`` says whether it is kept
    /// as a secret should be: a downloader does not ask.
    public var netrc: Netrc?
    /// What every download begins with. What servers set is kept for the run of each download, shared by its connections, and
    /// goes to the origin that set it only.
    public var cookies = Cookies()
    /// Whether ``Downloader/cookies`` also holds what servers set.
    public var collectsCookies = false
    /// A PEM file with certificates to trust beside the system's.
    public var certificateAuthorities: String?
    public var userAgent = "haul/" + haulVersion
    /// Time between two reports of progress. How far the bytes have come is recorded twice as often: what a SIGKILL costs
    /// at most is half of this, with the 50 ms that a piece may wait to be written and the time that the store takes.
    public var markInterval = Duration.milliseconds(200)
    /// Time between two syncs of a file's data: what a power loss costs at most.
    public var syncInterval = Duration.seconds(4)
    /// Who is told when downloads begin and end. ``Downloader/setHooks(_:)`` changes it later.
    public var hooks: [Hook] = []
    public var hookLimits = HookLimits()
    /// Shows what ``Hook/desktopNotification(on:)`` asks for; nil: the desktop that this user has, if any.
    public var notifier: (any Notifier)?
    /// Told the path of the store's file when another program has kept it locked for some seconds; it is waited for some more.
    package var onStoreWait: (@Sendable (_ path: String) -> Void)?
    /// Told of a row of the store that cannot be read, once for each: its id and its URL, as far as they can be.
    package var onOddRow: (@Sendable (_ name: String) -> Void)?
    /// How many event loops the process will have, where it has said so.
    package var eventLoops: Int?
    /// Most bytes that go to the disk in one call.
    var batchBytes = 512 << 10
    /// Where what happens is counted (`docs/metrics.md` says what); nil: where the process has said so.
    public var metrics: (any MetricsFactory)?
    /// Says `debug` and below only: outcomes are events, not log lines.
    public var logger = Logger(label: "haul") { _ in SwiftLogNoOpLogHandler() }

    /// - Parameter stateFolder: nil: `$HAUL_STATE_DIR`, else `$XDG_STATE_HOME/haul`, else
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
        // The XDG rules say that a relative path is to be ignored.
        if let state = environment["XDG_STATE_HOME"], state.hasPrefix("/") { return FilePaths.join(state, "haul") }
        #if canImport(Darwin)
            // Not tried on such a machine.
            let folders = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask)
            if let support = folders.first { return FilePaths.join(support.path, "haul") }
        #endif
        return HomeFolder.path(".local/state/haul", environment)
    }
}

/// The version of the library and the command.
public let haulVersion = "0.1.0"
