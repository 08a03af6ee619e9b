internal import Foundation
package import HaulKit

/// Sums over all downloads.
package struct Totals: Codable, Hashable, Sendable {
    package struct Counts: Codable, Hashable, Sendable {
        package var active: Int
        package var queued: Int
        package var paused: Int
        package var failed: Int
        package var completed: Int
        package var all: Int
    }

    package var bytesPerSecond: Int64
    package var secondsLeft: Int64?
    package var counts: Counts
    package var freeBytes: Int64?
    package var folder: String?
    package var speedLimit: Int64?
    /// Text for people about a failure of the store, or about the losses of a damaged store.
    package var storeNotice: String?

    package init(_ downloader: Downloader, folder: String) async throws(DownloadError) {
        let summary = try await downloader.summary()
        let active = try await downloader.count(.states(DownloadSnapshot.State.active))
        bytesPerSecond = DownloadRow.count(summary.bytesPerSecond)
        secondsLeft = summary.timeLeft.map { TimeLeft.rounded(Double($0.components.seconds)) }
        counts = Counts(
            active: active,
            queued: max(0, summary.open - active),
            paused: summary.paused,
            failed: summary.failed,
            completed: summary.completed,
            all: summary.count
        )
        // Rounds down to the MiB: other programs write too, and listeners do not need each changed block.
        freeBytes = try await downloader.files.freeDiskSpace(at: folder).map { ($0 >> 20) << 20 }
        speedLimit = await downloader.configuration.network.bytesPerSecond
        storeNotice = downloader.storeNotice
    }
}

extension Downloader {
    /// The present failure of the store, else the losses of a damaged store that is still kept; `nil` if there is
    /// neither.
    nonisolated var storeNotice: String? {
        if let failure = storeFailure { return failure.message }
        return salvagedStore.map { $0.sentence() + " Remove that file to end this notice." }
    }
}
