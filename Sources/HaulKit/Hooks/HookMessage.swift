internal import Foundation

/// A message to hooks of any kind.
struct HookMessage: Sendable, Equatable {
    enum Subject: Sendable, Equatable {
        case download(HookedDownload)
        case all(HookCounts)
        case group(String, DownloadSummary)
    }

    var event: HookEvent
    var time: Date
    var subject: Subject
}

/// A download at the moment of an event.
struct HookedDownload: Sendable, Equatable {
    var id: DownloadID
    var url: URL
    /// Present or future path of the file, once it is known.
    var path: String?
    /// Received bytes of the file.
    var bytes: Int64
    /// Length of the whole file in bytes; `nil` if it is unknown.
    var total: Int64?
    var key: String?
    var group: String?
    var owner: String?
    var metadata: DownloadRequest.Metadata?
    var alreadyExisted = false
    var error: DownloadError?
    var startedAt: Date?
    var endedAt: Date?
}

/// Numbers of downloads that completed or failed since the end of all downloads was last reported.
struct HookCounts: Sendable, Equatable {
    var completed = 0
    var failed = 0
}

// MARK: For people

extension HookMessage {
    /// The texts of a notification.
    var notice: (title: String, body: String) {
        switch subject {
        case .all(let counts) where counts.failed == 0:
            return ("Downloads complete", counts.completed == 1 ? "1 file" : "\(counts.completed) files")
        case .all(let counts):
            return ("Downloads ended", "\(counts.completed) complete, \(counts.failed) failed")
        case .group(let name, let summary) where summary.failed == 0 && summary.paused == 0:
            return (
                "Downloads complete", summary.completed == 1 ? "\(name): 1 file" : "\(name): \(summary.completed) files"
            )
        case .group(let name, let summary):
            let paused = summary.paused > 0 ? ", \(summary.paused) paused" : ""
            return ("Downloads ended", "\(name): \(summary.completed) complete, \(summary.failed) failed\(paused)")
        case .download(let download):
            let name = download.path.map(FilePaths.name) ?? download.url.masked
            switch event {
            case .started: return ("Download started", name)
            case .completed, .groupEnded, .allCompleted: return ("Download complete", name)
            case .failed: return ("Download failed", download.error.map { "\(name): \($0.message)" } ?? name)
            }
        }
    }
}
