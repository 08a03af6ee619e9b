/// Changes that the user makes to a download.
extension DownloadTask {
    /// Limits the speed from now on, and notes the limit in the record.
    func setSpeedLimit(_ bytesPerSecond: Int64?) {
        connections.speedLimit.bytesPerSecond = bytesPerSecond
        record.request.bytesPerSecond = bytesPerSecond
        if ownership.isOwned { environment.services.store.note(record) }
    }

    /// Adopts the priority and the queue position that the store has recorded.
    func place(priority: Int, position: Int64) {
        record.request.priority = priority
        record.position = position
    }

    /// Continues from another URL of the same file. Returns when the URL is recorded.
    func replaceSource(with source: DownloadSource, isolation: isolated (any Actor)? = #isolation) async {
        // Takes a slot first, because the machine makes the next attempt at once.
        _ = regainSlot()
        send(.sourceReplaced(takeLink(source)))
        run(recordLink())
        hub.progressed(present())
        await settled()
    }

    /// Merges a new request for the same download. The received bytes stay.
    ///
    /// - Parameters:
    ///   - isMoved: whether the file goes to the destination of the new request.
    ///   - settings: returns the machine's settings for the merged record.
    func merge(
        _ request: DownloadRequest,
        isMoved: Bool,
        _ settings: (DownloadRecord) -> DownloadMachine.Settings,
        isolation: isolated (any Actor)? = #isolation
    ) async throws(DownloadError) {
        if isMoved { record.move(to: request.destination) }
        let isReplaced = record.merge(request)
        connections.speedLimit.bytesPerSecond = record.request.bytesPerSecond
        send(.retargeted(settings(record), isFromReplacedSource: isReplaced))
        guard isReplaced || isMoved, ownership.isOwned else { return }
        try await environment.services.store.commit(record, nil, durably: true)
    }
}
