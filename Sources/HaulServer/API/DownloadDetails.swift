internal import Foundation
internal import HaulKit

/// The details of a download that a row does not contain, as JSON. The daemon sends them, and `haul show` reads them.
package struct DownloadDetails: Codable, Sendable {
    /// An open connection, and the bytes that it has not received yet: from `start` up to, but not including, `end`.
    package struct Segment: Codable, Sendable {
        package var host: String
        package var start: Int64
        package var end: Int64
        package var bytesPerSecond: Int64
    }

    package var requestURL: String
    package var finalURL: String?
    /// URL of the page that the download came from. Includes the query, because clients open the URL.
    package var page: String?
    /// Additional header fields of the request: each name with `***` as its value.
    package var headers: [String: String]
    package var mirrors: [String]
    package var checksum: String?
    /// In bytes per second; `nil` without a limit for this download.
    package var speedLimit: Int64?
    package var segments: [Segment]
    package var ranges: [[Int64]]
    package var log: [DownloadLogs.Entry]
    package var rev: String

    init(_ snapshot: DownloadSnapshot, _ request: DownloadRequest, log: [DownloadLogs.Entry], rev: String) {
        requestURL = request.url.masked
        finalURL = snapshot.finalURL?.masked
        page = request.page?.absoluteString
        // Hides the values, which may be secret; the names show which fields are sent.
        headers = Dictionary(request.headers.map { ($0.name, "***") }, uniquingKeysWith: { first, _ in first })
        mirrors = request.mirrorURLs.map(\.masked)
        checksum = request.checksum?.description
        speedLimit = request.bytesPerSecond
        segments = snapshot.connections.map { connection in
            Segment(
                host: connection.host,
                start: connection.remainingRange.lowerBound,
                end: connection.remainingRange.upperBound,
                bytesPerSecond: DownloadRow.count(connection.bytesPerSecond)
            )
        }
        ranges = snapshot.receivedRanges.map { [$0.lowerBound, $0.upperBound] }
        (self.log, self.rev) = (log, rev)
    }
}
