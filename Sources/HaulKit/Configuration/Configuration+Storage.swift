internal import Foundation

extension Downloader.Configuration {
    /// Where state is kept, and how much disk space downloads may take. ``Downloader/update(_:)`` changes
    /// ``keepsFinishedRecords``, ``waitsForSpace``, ``reservedDiskSpace``, ``diskQuota``, ``progressInterval`` and
    /// ``syncInterval``; the others are read when the downloader opens.
    public struct Storage: Sendable {
        /// Identifies the store. Downloaders with different names share nothing. Must not be empty, begin with a dot or
        /// contain a slash. Default: `default`.
        public var name: String
        /// Path of the folder that holds the stores. Readable by its owner only, since header fields may hold secrets.
        public var stateFolder: String
        /// Whether the store is kept in memory: nothing of it is on the disk, ``name`` and ``stateFolder`` name nothing, and each
        /// downloader begins empty. ``Downloader/shutDown()`` cancels what is unfinished, since nothing could continue it;
        /// partial files of a process that ended without it stay where they are, and nothing adopts them. For engines below a
        /// store of the application's own. Default: `false`.
        public var isInMemory = false
        /// How long the records of finished downloads are kept. The files stay, whatever becomes of their records; handles
        /// keep their snapshot and result. What has no record is in no list and no sum, does not count for ``diskQuota``, and
        /// is not recognised when it is added again: its file is then one that is in the way
        /// (``DownloadRequest/onConflict``). A record that is dropped is reported by ``DownloaderEvent/removed(_:group:)``.
        /// Default: ``RecordKeeping/always``.
        public var keepsFinishedRecords = RecordKeeping.always
        /// Absolute path of a folder that the system may move between two runs: paths that an earlier run stored below
        /// it are resolved below its present path. `nil`: no folder moves. Default: the application's container on
        /// systems that give it another path with each update (iOS and its kin; not tried on such a machine), `nil`
        /// elsewhere.
        public var movingRoot = Self.defaultMovingRoot
        /// What happens to the downloads of earlier runs. Default: ``Restoration/everything``.
        public var restoration = Restoration.everything
        /// Whether downloads that ran when an earlier process ended are queued again, with ``Restoration/everything``;
        /// otherwise they are paused. Downloads that the user paused stay paused in either case. Default: `true`.
        public var resumesAtStart = true
        /// Whether a download that finds no space on the disk is held until there is some (``HoldReason/diskFull``,
        /// ``HoldReason/quota``). Otherwise it fails with ``DownloadError/Code/diskFull``. A file that is larger than
        /// the disk or the quota fails in either case. A change applies to runs that start later. Default: `true`.
        public var waitsForSpace = true
        /// Bytes of each disk that downloads leave free; 0: downloads may fill the disk. Default: 0.
        public var reservedDiskSpace: Int64 = 0
        /// Largest number of bytes that the files of this downloader may take, finished and unfinished together; `nil`
        /// for no limit. 0 or less: no file with a byte fits. An unfinished file counts with its complete length, a
        /// finished file as long as its record is kept and its file exists. Default: `nil`.
        public var diskQuota: Int64?
        /// Time between two reports of progress. Received ranges are recorded twice as often: a SIGKILL costs at most
        /// the bytes of half this interval, plus the 50 ms that a buffer may wait to be written and the time that the
        /// store takes. Default: 200 ms.
        public var progressInterval = Duration.milliseconds(200)
        /// Time between two syncs of a file's data: what a power loss costs at most. Default: 4 s.
        public var syncInterval = Duration.seconds(4)
        /// Whether the settings that ``Downloader/update(_:)`` changes are remembered in the store. When a downloader of this
        /// name opens, they take the place of those in its configuration. Remembered are those of ``Queue``, of
        /// ``Connections`` without the time limits, ``Downloader/Configuration/retry``, of ``Network`` the speed limit,
        /// ``Network/waitsForNetwork`` and ``Network/allowsMetered``, and what can be changed of this group but
        /// ``keepsFinishedRecords``; hooks and proxies, which may hold secrets, and the source provider are not. A remembered value
        /// that cannot be read is ignored, and logged at `debug`. ``Downloader/forgetSettings()`` forgets all.
        /// Default: `false`, and remembered values are not read.
        public var remembersSettings = false
        /// Called with the path of the store's file when another program has kept it locked for some seconds; the
        /// downloader waits for some more.
        package var onStoreWait: (@Sendable (_ path: String) -> Void)?
        /// Called once for each row of the store that cannot be read, with its id and URL as far as they can be read.
        package var onOddRow: (@Sendable (_ name: String) -> Void)?
        /// Called each time that the store becomes unreliable (``Downloader/storeFailure``).
        package var onStoreFailure: (@Sendable (DownloadError) -> Void)?
        /// Whether folders of downloads are made where they are missing. Without, such a download fails: its folder may be that of a
        /// file system that is away.
        package var makesFolders = true
        /// Largest number of bytes written with one call.
        var batchBytes = 512 << 10

        /// The default values.
        ///
        /// - Parameters:
        ///   - name: see ``name``.
        ///   - stateFolder: path of ``stateFolder``. `nil`: `$HAUL_STATE_DIR`, else `$XDG_STATE_HOME/haul`, else
        ///     `$HOME/.local/state/haul`.
        public init(name: String = "default", stateFolder: String? = nil) {
            self.name = name
            self.stateFolder = stateFolder ?? Self.defaultFolder(ProcessInfo.processInfo.environment)
        }
    }

    /// How long the record of a finished download is kept: see ``Storage/keepsFinishedRecords``.
    public enum RecordKeeping: Sendable, Hashable {
        /// Until it is removed by a call.
        case always
        /// Until the download is complete and its listeners have been told.
        case none
        /// So long after the download was completed, also over restarts; it may be longer while no downloader has the store
        /// open. Zero or less: as ``none``.
        case `for`(Duration)
    }

    /// What a downloader does with the downloads that earlier runs left in its store.
    public enum Restoration: Sendable, Hashable {
        /// Restores every download: downloads that ran are queued again, paused downloads stay paused. The process owns
        /// the name exclusively.
        case everything
        /// Restores only downloads that are added again. Several downloaders, in several processes, may share the name.
        case onRequest
    }
}

extension Downloader.Configuration.Storage {
    private static var defaultMovingRoot: String? {
        #if os(iOS) || os(tvOS) || os(watchOS) || os(visionOS)
            NSHomeDirectory()
        #else
            nil
        #endif
    }

    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/invalidDestination`` where the folder is the default one and the
    ///   environment names it by bytes that are not UTF-8.
    func checkFolder() throws(DownloadError) {
        do throws(DownloadError) { try PathText.check(variables: ["HAUL_STATE_DIR", "XDG_STATE_HOME", "HOME"]) } catch {
            if stateFolder == Self.defaultFolder(ProcessInfo.processInfo.environment) { throw error }
        }
    }

    static func defaultFolder(_ environment: [String: String]) -> String {
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
