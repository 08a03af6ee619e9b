internal import Foundation

extension Downloader.Configuration {
    /// Location of the state, and limits of disk space.
    ///
    /// ``Downloader/update(_:)`` changes ``keepsFinishedRecords``, ``waitsForSpace``, ``reservedDiskSpace``,
    /// ``diskQuota``, ``progressInterval`` and ``syncInterval``; the other values are read when the downloader opens.
    public struct Storage: Sendable {
        /// Name of the store. Downloaders with different names share nothing. Must not be empty, begin with a dot or
        /// contain a slash. Default: `default`.
        public var name: String
        /// Path of the folder that holds the stores. Only its owner can read the folder, since header fields may hold
        /// secrets.
        public var stateFolder: String
        /// Whether the store is kept in memory instead of on the disk. ``name`` and ``stateFolder`` then locate
        /// nothing, and each downloader begins empty. Meant for an application that has a store of its own. Default:
        /// `false`.
        ///
        /// ``Downloader/shutDown()`` cancels every unfinished download, because nothing could continue it. If the
        /// process ends without that call, its partial files stay where they are, and no later downloader adopts them.
        public var isInMemory = false
        /// How long the records of finished downloads are kept. Default: ``RecordKeeping/always``.
        ///
        /// Dropping a record keeps the file, and handles keep their snapshot and result.
        /// ``DownloaderEvent/removed(_:group:)`` reports each dropped record. A download without a record is in no list
        /// and no sum, and does not count for ``diskQuota``. If it is added again, the downloader does not recognise
        /// it, and treats its file as an existing file that is in the way (``DownloadRequest/onConflict``).
        public var keepsFinishedRecords = RecordKeeping.always
        /// Absolute path of a folder that the system may move between two runs. Paths that an earlier run stored below
        /// the folder are resolved below its present path. `nil`: no folder moves. Default: the application's container
        /// on systems that give the container another path with each update (iOS, tvOS, watchOS and visionOS; not
        /// tested there), `nil` elsewhere.
        public var movingRoot = Self.defaultMovingRoot
        /// What happens to the downloads of earlier runs. Default: ``Restoration/everything``.
        public var restoration = Restoration.everything
        /// Whether downloads that waited or ran when an earlier process ended are queued again, with
        /// ``Restoration/everything``. With `false` they are paused. Downloads that the user paused stay paused in
        /// either case. Default: `true`.
        public var resumesAtStart = true
        /// Whether a download that finds no space on the disk is held until there is some (``HoldReason/diskFull``,
        /// ``HoldReason/quota``). With `false` it fails with ``DownloadError/Code/diskFull``. A file that is larger
        /// than the disk or the quota fails in either case. A change applies to runs that start later. Default: `true`.
        public var waitsForSpace = true
        /// Bytes of each disk that downloads leave free. With 0, the default, downloads may fill the disk.
        public var reservedDiskSpace: Int64 = 0
        /// Largest number of bytes that the files of this downloader may take, finished and unfinished together; `nil`
        /// for no limit. With 0 or less, only empty files fit. An unfinished file counts with its complete length, a
        /// finished file as long as its record is kept and its file exists. Default: `nil`.
        public var diskQuota: Int64?
        /// Time between two reports of progress. Received ranges are recorded twice as often. A SIGKILL costs at most
        /// the bytes that arrived last. They are those of half this interval, plus 50 ms that a buffer may wait to be
        /// written, plus the time that the store takes to record ranges. Default: 200 ms.
        public var progressInterval = Duration.milliseconds(200)
        /// Time between two syncs of a file's data. A power loss costs at most the bytes of this interval. Default:
        /// 4 s.
        public var syncInterval = Duration.seconds(4)
        /// Whether the store remembers the settings that ``Downloader/update(_:)`` changes. When a downloader of this
        /// name opens, remembered settings replace those of its configuration. With `false`, the default, remembered
        /// settings are not read either.
        ///
        /// - Remembered: all of ``Queue``; ``Connections`` except the time limits and
        ///   ``Connections/fetchesMediaEndEarly``; ``Downloader/Configuration/retry``; ``Network/bytesPerSecond``,
        ///   ``Network/waitsForNetwork`` and ``Network/allowsMetered``; and the settings of ``Storage`` that
        ///   ``Downloader/update(_:)`` changes, except ``keepsFinishedRecords``.
        /// - Not remembered: all other settings, among them hooks and proxies, which may hold secrets.
        ///
        /// A remembered value that cannot be read is ignored, and logged at `debug`.
        public var remembersSettings = false
        /// Called with the path of the store's file when another program has kept the file locked for some seconds. The
        /// downloader keeps waiting for some more seconds.
        package var onStoreWait: (@Sendable (_ path: String) -> Void)?
        /// Called once for each row of the store that cannot be read, with the row's id and URL as far as they can be
        /// read, else with its number. Also called with the name of each remembered setting that cannot be read.
        package var onOddRow: (@Sendable (_ name: String) -> Void)?
        /// Called each time that the store becomes unreliable (``Downloader/storeFailure``), and with `nil` when a
        /// store whose disk was full can be written again.
        package var onStoreChange: (@Sendable (DownloadError?) -> Void)?
        /// Whether missing folders of downloads are created. With `false` a download into a missing folder fails,
        /// because the file system of the folder may not be mounted. Default: `true`.
        package var makesFolders = true
        /// Folders that confine their downloads: no path below such a folder may lead out of it through a symbolic
        /// link. Default: none.
        package var confined = ConfinedFolders([])
        /// Groups of sets that continue later. With ``Restoration/everything``, the waiting downloads of such a set are
        /// queued only when the sync of the set adds them again. Default: none.
        package var groupsOfLaterSets: Set<String> = []
        /// Algorithm of a digest that is computed of each file while it comes, for ``CompletedDownload/digest``. Files
        /// that stay in memory until they are complete have none. Default: `nil`, for none.
        package var keptDigest: DownloadRequest.Checksum.Algorithm?
        /// Largest number of bytes written with one call.
        var batchBytes = 512 << 10

        /// The default values.
        ///
        /// - Parameters:
        ///   - name: see ``name``.
        ///   - stateFolder: path of ``stateFolder``. `nil`: `$HAUL_STATE_DIR`, else `$XDG_STATE_HOME/haul`, else
        ///     `$HOME/.local/state/haul`.
        package init(name: String = "default", stateFolder: String? = nil) {
            self.name = name
            self.stateFolder = stateFolder ?? Self.defaultFolder(ProcessInfo.processInfo.environment)
        }
    }

    /// How long the record of a finished download is kept: see ``Storage/keepsFinishedRecords``.
    public enum RecordKeeping: Sendable, Hashable {
        /// Until a call removes the record.
        case always
        /// Until the download is complete and its listeners have got the outcome.
        case none
        /// For this time after the download was completed, also across restarts. The record stays longer while no
        /// downloader has the store open. Zero or less: like ``none``.
        case `for`(Duration)
    }

    /// What a downloader does with the downloads that earlier runs left in its store.
    public enum Restoration: Sendable, Hashable {
        /// Restores every download: downloads that waited or ran are queued again, paused downloads stay paused. The
        /// process owns the name exclusively.
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

    /// Checks that the default state folder has a usable path.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/invalidDestination`` if ``stateFolder`` is the
    ///   default and an environment variable names it by bytes that are not UTF-8.
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
            // Not tested on Darwin.
            let folders = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask)
            if let support = folders.first { return FilePaths.join(support.path, "haul") }
        #endif
        return HomeFolder.path(".local/state/haul", environment)
    }
}
