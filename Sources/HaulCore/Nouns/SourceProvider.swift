public import Foundation

/// Returns a URL for a download: the first URL, or a replacement for a URL that was refused or is about to expire.
///
/// The downloader calls a provider outside its actor, for several downloads concurrently. A call may take at most
/// ``Downloader/Configuration/Sources/timeout``. After that time, or when the download is paused or cancelled, the task
/// of the call is cancelled. A thrown error counts as a failed attempt of the download; after several in a row the
/// download fails with ``DownloadError/Code/sourceFailed``.
public typealias SourceProvider = @Sendable (SourceQuery) async throws -> DownloadSource

/// A URL from which a download continues.
///
/// The application guarantees that the URL leads to the same file. Received bytes are kept in any of three cases: the
/// new source confirms the length and the version of the received bytes, blocks from all over the partial file agree,
/// or a digest proves the result.
public struct DownloadSource: Sendable, Hashable {
    /// An `http` or `https` URL.
    public var url: URL
    /// Header fields for the origin (scheme, host and port) of ``url`` only. `nil`, the default: the download's present
    /// fields if the origin stays the same, none for another origin. The fields of a request without a URL are sent to
    /// the origin of its first URL.
    public var headers: [HeaderField]?
    /// When the URL stops working. `nil`, the default: the time in the URL's query, if the query has a widely used form
    /// (S3, Google Cloud Storage, CloudFront, Azure). A time in the past counts as unknown, since clocks differ.
    public var expiresAt: Date?

    /// Makes a source.
    ///
    /// - Parameters:
    ///   - url: an `http` or `https` URL; checked when the source is used.
    ///   - headers: see ``headers``.
    ///   - expiresAt: see ``expiresAt``.
    public init(_ url: URL, headers: [HeaderField]? = nil, expiresAt: Date? = nil) {
        self.url = url
        self.headers = headers
        self.expiresAt = expiresAt
    }
}

/// The download for which a ``SourceProvider`` is called, and the reason of the call.
public struct SourceQuery: Sendable, Hashable {
    /// The reason why a URL is needed.
    public enum Reason: Sendable, Hashable, Codable {
        /// The download has no URL yet.
        case noneYet
        /// The server refused the last URL with status 401, 403, 404 or 410, or with 400 if the URL has a query. Or it
        /// sent a web page in place of the file; `status` is then the status of the page.
        case refused(status: Int)
        /// The URL is about to expire, or has expired.
        case expiring
    }

    /// The id of the download.
    public let id: DownloadID
    /// The application's name for the download: ``DownloadRequest/key``.
    public let key: String?
    /// The application's own data: ``DownloadRequest/metadata``.
    public let metadata: DownloadRequest.Metadata?
    /// The last URL; `nil` when there was none.
    public let url: URL?
    /// The reason why a URL is needed.
    public let reason: Reason

    /// Makes a query, for testing a provider without a downloader.
    public init(
        id: DownloadID,
        key: String? = nil,
        metadata: DownloadRequest.Metadata? = nil,
        url: URL? = nil,
        reason: Reason = .noneYet
    ) {
        self.id = id
        self.key = key
        self.metadata = metadata
        self.url = url
        self.reason = reason
    }
}
