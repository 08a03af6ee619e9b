/// Ends recordings of live streams when the user asks for it.
extension Downloader {
    /// Ends the recordings of live streams that a filter selects. Each film is put together from the segments that are
    /// there, and its download completes. Segments in flight become gaps when none has arrived for 10 seconds. Other
    /// downloads do not change.
    ///
    /// Returns at once; the downloads complete later.
    ///
    /// - Parameter filter: the downloads. Default: all.
    /// - Returns: whether a live stream was being recorded.
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/storeFailed`` or ``DownloadError/Code/shutDown``.
    @discardableResult
    package func finishRecording(_ filter: DownloadFilter = .all) async throws(DownloadError) -> Bool {
        try checkIsOpen()
        var recording = tasks.values.filter(\.isRecording)
        if !recording.isEmpty, !filter.isUnrestricted {
            let named = Set(try await ids(of: filter))
            recording = recording.filter { named.contains($0.id) && $0.isRecording }
        }
        for task in recording { task.connections.film?.finish() }
        return !recording.isEmpty
    }
}

extension DownloadTask {
    /// Whether a live stream is being recorded, and nobody has asked to end the recording.
    fileprivate var isRecording: Bool {
        guard let film = connections.film, film.counts.isLive, !film.isFinishing else { return false }
        switch machine.state {
        case .connecting, .transferring, .backingOff: return machine.resource?.stream?.isLog == true
        default: return false
        }
    }
}

extension Download {
    /// Ends the recording of a live stream: the film is put together from the segments that are there, and the download
    /// completes. Does nothing for a download that records no live stream.
    ///
    /// Returns at once; ``result(onCancel:)`` waits for the film.
    ///
    /// - Returns: whether a live stream was being recorded.
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/storeFailed`` or ``DownloadError/Code/shutDown``.
    @discardableResult
    public func finishRecording() async throws(DownloadError) -> Bool {
        try await downloader.finishRecording(.ids([id]))
    }
}
