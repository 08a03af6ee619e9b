internal import Foundation
package import HaulKit

/// Sums over all downloads, the limit of their speed, free disk space, and the notice about the store.
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
    /// Text for people about a failure of the store, or about the losses of a damaged store; `nil` if there is neither.
    package var storeNotice: String?
    /// Kind of ``storeNotice``; `nil` without a notice.
    package var storeNoticeCode: StoreNotice.Code?

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
        let notice = StoreNotice(downloader)
        (storeNotice, storeNoticeCode) = (notice?.text, notice?.code)
    }
}

/// A message about the store: its present failure, or else the losses of a damaged store whose file is still kept.
package struct StoreNotice: Hashable, Sendable {
    package enum Code: String, Codable, Sendable {
        /// The store has failed for another reason than a full disk: its file is damaged or gone, for example.
        case failed
        /// The disk of the store is full.
        case full
        /// A new store contains the readable part of a damaged one.
        case salvaged
    }

    let code: Code
    /// The English sentences.
    let text: String

    /// - Returns: `nil` if the store works and no damaged store is kept.
    init?(_ downloader: Downloader) {
        if let failure = downloader.storeFailure {
            (code, text) = (failure.code == .diskFull ? .full : .failed, failure.message)
        } else if let salvaged = downloader.salvagedStore {
            (code, text) = (.salvaged, salvaged.sentence() + " Remove that file to end this notice.")
        } else {
            return nil
        }
    }
}
