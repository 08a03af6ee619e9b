package import Foundation
package import HaulKit

extension DownloadSnapshot {
    /// Makes a snapshot for Haul's own tests.
    package static func made(
        _ state: State,
        id: DownloadID = DownloadID(),
        url: URL,
        path: String? = nil,
        receivedBytes: Int64 = 0,
        totalBytes: Int64? = nil,
        bytesPerSecond: Double = 0,
        error: DownloadError? = nil,
        retryDelay: Duration? = nil
    ) -> DownloadSnapshot {
        DownloadSnapshot(
            id: id,
            url: url,
            state: state,
            path: path,
            receivedBytes: receivedBytes,
            totalBytes: totalBytes,
            bytesPerSecond: bytesPerSecond,
            error: error,
            retryDelay: retryDelay,
            addedAt: Date(timeIntervalSince1970: 0)
        )
    }
}
