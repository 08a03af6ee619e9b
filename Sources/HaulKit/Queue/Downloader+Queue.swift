/// Changes the order of the queue: sets priorities, moves and sorts downloads, and starts a download before the others.
/// Running transfers are not affected, except a transfer whose slot goes to another download.
extension Downloader {
    /// Gives a download another priority; see ``Download/setPriority(_:)``.
    package func setPriority(_ priority: Int, of id: DownloadID) async throws(DownloadError) {
        try checkIsOpen()
        try await checkIsKnown(id)
        try await setPriority(priority, of: .ids([id]))
    }

    /// Gives downloads another priority; see ``DownloadRequest/priority``.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/storeFailed`` or ``DownloadError/Code/shutDown``.
    public func setPriority(_ priority: Int, of filter: DownloadFilter) async throws(DownloadError) {
        try await withCatalogLock { downloader throws(DownloadError) in
            let ids = try await downloader.ids(of: filter)
            try await downloader.store.setPriority(priority, of: ids)
            for row in try await downloader.store.places(ids) {
                downloader.tasks[row.id]?.place(priority: priority, position: row.position)
                downloader.scheduler.queue.change(row.id, priority: priority, position: row.position)
            }
            downloader.scheduler.startQueuedDownloads()
        }
    }

    /// Starts a download before all waiting ones; see ``Download/startNow()``.
    package func startNow(_ id: DownloadID) async throws(DownloadError) {
        try await resume(id)
        try checkIsOpen()
        if scheduler.isFilling {
            try await withCatalogLock { downloader throws(DownloadError) in
                try await downloader.scheduler.fill(.ids([id]))
            }
        }
        scheduler.queue.urge(id)
        scheduler.startQueuedDownloads()
        if let task = tasks[id], case .backingOff = task.machine.state { task.endWait() }
    }

    /// A position in the queue, for ``Downloader/move(_:to:)``.
    public enum Place: Sendable, Hashable {
        /// The front or the end of the queue.
        case first, last
        /// Directly before a download.
        case before(DownloadID)
        /// Directly after a download.
        case after(DownloadID)

        /// The download that `before` or `after` names; `nil` for `first` and `last`.
        fileprivate var other: DownloadID? {
            switch self {
            case .first, .last: nil
            case .before(let id), .after(let id): id
            }
        }
    }

    /// Moves downloads to another place in the queue, in the order of `ids`. Priorities stay unchanged and take
    /// precedence over positions. Unknown IDs are ignored.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/notFound`` when the store has none of these
    ///   downloads, or lacks the one that `place` names; ``DownloadError/Code/storeFailed`` or
    ///   ``DownloadError/Code/shutDown``.
    public func move(_ ids: [DownloadID], to place: Place) async throws(DownloadError) {
        try checkIsOpen()
        guard !ids.isEmpty else { return }
        try await withCatalogLock { downloader throws(DownloadError) in
            if try await downloader.store.count(.ids(ids)) == 0 { throw .notFound(ids[0]) }
            var gap = try await downloader.store.gap(at: place, besides: ids)
            if let found = gap, found.upper - found.lower <= Int64(ids.count) {
                try await downloader.store.spread(DownloadCatalog.positionStep)
                try await downloader.readPlaces()
                gap = try await downloader.store.gap(at: place, besides: ids)
            }
            guard let gap else {
                // `gap` is `nil` beside a download that the store does not have, or whose position cannot be read.
                if let other = place.other { try await downloader.checkIsKnown(other) }
                return
            }
            let step = max(1, (gap.upper - gap.lower) / Int64(ids.count + 1))
            try await downloader.store.place(ids, from: gap.lower + step, by: step)
            try await downloader.readPlaces(of: ids)
            downloader.scheduler.startQueuedDownloads()
        }
    }

    /// Sorts the whole queue once; downloads added later are appended. Priorities take precedence over positions.
    ///
    /// - Throws: as ``setPriority(_:of:)``.
    public func sort(by order: DownloadFilter.Order, isDescending: Bool = false) async throws(DownloadError) {
        try await withCatalogLock { downloader throws(DownloadError) in
            let filter = DownloadFilter(order: order, isDescending: isDescending)
            try await downloader.store.spread(
                DownloadCatalog.positionStep,
                by: downloader.engine.reader.condition(filter)
            )
            try await downloader.readPlaces()
            downloader.scheduler.startQueuedDownloads()
        }
    }

    /// Reads positions that the store has changed; with `nil`, the positions of all downloads.
    private func readPlaces(of ids: [DownloadID]? = nil) async throws(DownloadError) {
        for row in try await store.places(ids) {
            tasks[row.id]?.place(priority: row.priority, position: row.position)
            scheduler.queue.change(row.id, priority: row.priority, position: row.position)
        }
        catalog.position = max(catalog.position, try await store.lastPosition())
    }
}
