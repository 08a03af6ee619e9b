package import Foundation

@testable package import HaulKit

extension DownloadSnapshot {
    /// A snapshot as a test wants it, of no downloader's.
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
        let record = DownloadRecord(
            id,
            DownloadRequest(url, to: .folder(path: "/tmp")),
            createdAt: Date(timeIntervalSince1970: 0)
        )
        return DownloadSnapshot(
            id,
            record,
            state: state,
            path: path,
            receivedBytes: receivedBytes,
            totalBytes: totalBytes,
            bytesPerSecond: bytesPerSecond,
            error: error,
            retryDelay: retryDelay
        )
    }
}
