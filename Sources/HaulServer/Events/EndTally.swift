internal import Foundation
internal import HaulKit
internal import Logging

/// Counts ends and holds of downloads since the last summary, and makes the log lines about them.
struct EndTally: Sendable {
    struct Line: Sendable {
        var level: Logger.Level
        var message: String
        var metadata: Logger.Metadata
    }

    private var completed: Int64 = 0
    private var failed: Int64 = 0
    private var cancelled: Int64 = 0
    /// Downloads that began to wait because of the disk or the quota.
    private var held: Int64 = 0
    /// Bytes of the completed files, without files that already existed.
    private var bytes: Int64 = 0
    /// Hold reasons that have a line since the last summary. Each gets only one line, because a full disk may hold
    /// every download of the queue.
    private var reasons: Set<HoldReason> = []

    /// Whether nothing has been counted since the last summary.
    var isEmpty: Bool { completed == 0 && failed == 0 && cancelled == 0 && held == 0 }

    /// Counts an event.
    ///
    /// - Returns: the line of an end that is not a success, or of the first hold for a reason; `nil` for other events.
    mutating func line(for event: DownloaderEvent) -> Line? {
        switch event {
        case .ended(_, .completed(let file)):
            completed += 1
            if !file.alreadyExisted { bytes += file.bytes }
            return nil
        case .ended(let snapshot, .failed(let error)):
            // Skips a shutdown, because the download continues at the next start.
            guard error.code != .shutDown else { return nil }
            failed += 1
            var metadata = Self.metadata(snapshot)
            metadata["code"] = .string(error.code.rawValue)
            if let status = error.status { metadata["status"] = .stringConvertible(status) }
            return Line(level: .warning, message: "Failed: \(snapshot.url.masked): \(error)", metadata: metadata)
        case .ended(let snapshot, .cancelled):
            cancelled += 1
            return Line(level: .info, message: "Cancelled: \(snapshot.url.masked)", metadata: Self.metadata(snapshot))
        case .changed(let snapshot):
            guard snapshot.state == .paused, let reason = snapshot.holdReason, Self.isOfDisk(reason) else { return nil }
            held += 1
            guard reasons.insert(reason).inserted else { return nil }
            var metadata = Self.metadata(snapshot)
            metadata["reason"] = .string(reason.rawValue)
            let cause = snapshot.error?.description ?? reason.rawValue
            return Line(level: .warning, message: "Held: \(snapshot.url.masked): \(cause)", metadata: metadata)
        case .changedTogether(let state, let count):
            switch state {
            case .completed: completed += Int64(count)
            case .failed: failed += Int64(count)
            case .cancelled: cancelled += Int64(count)
            case .queued, .connecting, .transferring, .waiting, .verifying, .paused: break
            }
            return nil
        case .added, .removed, .progressed, .addedTogether, .removedTogether, .finished: return nil
        }
    }

    /// Returns the line with the counts, and starts over; `nil` if nothing has been counted.
    mutating func takeSummary() -> Line? {
        guard !isEmpty else { return nil }
        defer { self = EndTally() }
        return Line(
            level: .info,
            message: "Ends since the last summary:",
            metadata: [
                "completed": .stringConvertible(completed), "bytes": .stringConvertible(bytes),
                "failed": .stringConvertible(failed), "cancelled": .stringConvertible(cancelled),
                "held": .stringConvertible(held),
            ]
        )
    }

    private static func metadata(_ snapshot: DownloadSnapshot) -> Logger.Metadata {
        var metadata: Logger.Metadata = [
            "download": .string(snapshot.id.description), "received": .stringConvertible(snapshot.receivedBytes),
        ]
        if let path = snapshot.path { metadata["path"] = .string(path) }
        if let group = snapshot.group { metadata["group"] = .string(group) }
        return metadata
    }

    private static func isOfDisk(_ reason: HoldReason) -> Bool {
        switch reason {
        case .diskFull, .quota: true
        case .offline, .metered, .outsideHours: false
        }
    }
}
