public import Foundation

/// Returns a URL for a download: the first URL, or a replacement for a URL that was refused or is about to expire.
///
/// Called outside the downloader's actor, for several downloads concurrently. A call may take
/// ``Downloader/Configuration/Sources/timeout``; its task is cancelled after that time, and when the download is paused or
/// cancelled. A thrown error counts as a failed attempt of the download; after several in a row the download fails with
/// ``DownloadError/Code/sourceFailed``.
public typealias SourceProvider = @Sendable (SourceQuery) async throws -> DownloadSource

/// A URL from which a download continues.
///
/// The application guarantees that it is a URL of the same file. Received bytes are kept if the new source confirms the
/// length and the version that the server names, if blocks from all over the partial file agree, or if a digest proves
/// the result.
public struct DownloadSource: Sendable, Hashable {
    /// An `http` or `https` URL.
    public var url: URL
    /// Header fields for the origin of ``url`` only. `nil`: the download's own fields, as long as the origin (scheme,
    /// host and port) stays the same; another origin gets none. The fields of a request that was made without a URL go
    /// to the first origin.
    public var headers: [HeaderField]?
    /// When the URL stops working. `nil`: as its query says, where that has a widely used form (S3, Google Cloud
    /// Storage, CloudFront, Azure). A time in the past counts as unknown, since clocks differ.
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

/// What a ``SourceProvider`` is asked for.
public struct SourceQuery: Sendable, Hashable {
    /// Why a URL is needed.
    public enum Reason: Sendable, Hashable, Codable {
        /// The download has no URL yet.
        case noneYet
        /// The server refused the last URL: 401, 403, 404, 410; 400, where the URL has a query; or the status of a web
        /// page in place of the file.
        case refused(status: Int)
        /// The URL is about to expire, or has expired.
        case expiring
    }

    /// The download.
    public let id: DownloadID
    /// The application's name for the download: ``DownloadRequest/key``.
    public let key: String?
    /// The name of its group: ``DownloadRequest/group``.
    public let group: String?
    /// The label of its owner: ``DownloadRequest/owner``.
    public let owner: String?
    /// The application's own data: ``DownloadRequest/metadata``.
    public let metadata: DownloadRequest.Metadata?
    /// The last URL; `nil` when there was none.
    public let url: URL?
    /// Why a URL is needed.
    public let reason: Reason

    /// Makes a query, for testing a provider without a downloader.
    public init(
        id: DownloadID,
        key: String? = nil,
        group: String? = nil,
        owner: String? = nil,
        metadata: DownloadRequest.Metadata? = nil,
        url: URL? = nil,
        reason: Reason = .noneYet
    ) {
        self.id = id
        self.key = key
        self.group = group
        self.owner = owner
        self.metadata = metadata
        self.url = url
        self.reason = reason
    }
}
