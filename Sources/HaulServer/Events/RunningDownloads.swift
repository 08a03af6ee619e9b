internal import Foundation
internal import HaulKit

/// The downloads that run: their smoothed times left, and their progress since the last tick.
struct RunningDownloads {
    private var ids: Set<DownloadID> = []
    private var times: [DownloadID: (left: TimeLeft, at: Date)] = [:]
    /// Latest progress of each download since the last tick.
    private var progress: [DownloadID: DownloadSnapshot] = [:]

    var count: Int { ids.count }

    mutating func noteProgress(_ snapshot: DownloadSnapshot) { progress[snapshot.id] = snapshot }

    /// Takes over a snapshot, and drops the older progress of the same download.
    ///
    /// - Returns: the row of the snapshot.
    mutating func update(_ snapshot: DownloadSnapshot) -> DownloadRow {
        progress[snapshot.id] = nil
        switch snapshot.state {
        case .connecting, .transferring, .verifying: ids.insert(snapshot.id)
        default:
            ids.remove(snapshot.id)
            times[snapshot.id] = nil
        }
        return row(snapshot)
    }

    mutating func remove(_ id: DownloadID) {
        progress[id] = nil
        times[id] = nil
        ids.remove(id)
    }

    /// Returns a row for each download that has made progress since the last call.
    mutating func takeProgress() -> [(id: DownloadID, row: DownloadRow)] {
        let latest = progress
        progress = [:]
        return latest.values.map { ($0.id, row($0)) }
    }

    /// Returns the row of a snapshot, with the smoothed time left.
    private mutating func row(_ snapshot: DownloadSnapshot) -> DownloadRow {
        var row = DownloadRow(snapshot)
        guard snapshot.state == .transferring else { return row }
        let now = Date()
        var time = times[snapshot.id] ?? (TimeLeft(), now)
        let estimate = snapshot.timeLeft.map { Double($0.components.seconds) }
        row.secondsLeft = time.left.next(estimate, elapsed: now.timeIntervalSince(time.at))
        time.at = now
        times[snapshot.id] = time
        return row
    }
}
