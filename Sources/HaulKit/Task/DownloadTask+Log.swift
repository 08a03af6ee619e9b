internal import Logging

/// Lines of the log about a download.
extension DownloadTask {
    /// Logs that the download has got a slot.
    func logStart() { log(.info, "started \(machine.settings.url.masked)") }

    /// Logs each gap of a film at `notice`.
    func logGaps(_ gaps: [String]) {
        for gap in gaps { log(.notice, "gap in the film: \(gap)") }
    }

    /// Logs the end of a run at `info`, and every other state at `debug`.
    func logState(_ snapshot: DownloadSnapshot) {
        switch machine.state {
        case .completed(let path): log(.info, "completed \(VisibleText.line(path)), \(snapshot.receivedBytes) bytes")
        case .failed(let error): log(.info, "failed: \(error)")
        case .cancelled: log(.info, "cancelled")
        default: log(.debug, snapshot.state.rawValue)
        }
    }

    /// Logs a line about the download, with `download` and `group` as metadata.
    private func log(_ level: Logger.Level, _ text: @autoclosure () -> String) {
        environment.services.logger.log(level: level, "\(text())", metadata: logMetadata)
    }

    private var logMetadata: Logger.Metadata { Self.logMetadata(id, record.request.group) }

    /// Returns the metadata of a line about a download, for lines that are made outside of its task.
    static func logMetadata(_ id: DownloadID, _ group: String?) -> Logger.Metadata {
        var metadata: Logger.Metadata = ["download": .stringConvertible(id)]
        if let group { metadata["group"] = .string(VisibleText.line(group)) }
        return metadata
    }
}
