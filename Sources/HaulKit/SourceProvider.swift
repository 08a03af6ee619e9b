public import Foundation

/// Names a URL for a download: the first one, or a fresh one in place of one that was refused or is about to expire.
///
/// Called off the downloader, for several downloads at the same time if need be. It has ``Configuration/sourceTimeout`` for its
/// answer; its task is cancelled when that has passed, and when the download is paused or cancelled. An error that it throws
/// counts as a failed attempt of the download; after a few the download fails with ``DownloadError/Code/sourceFailed``.
public typealias SourceProvider = @Sendable (SourceQuery) async throws -> DownloadSource

/// Where a download comes from, from now on.
///
/// The application vouches for it: it is a link to the same file. Bytes that are here are kept if the new place agrees on the
/// length and on the version that the server names, or if blocks from all over what is on disk agree, or if a digest proves
/// the result.
public struct DownloadSource: Sendable, Hashable {
    /// An `http` or `https` URL.
    public var url: URL
    /// Sent to the origin of ``url`` only. Nil: those that the download has, as long as the origin (scheme, host and port) stays the
    /// same; another origin gets none. Header fields of a request that was made without a URL go to the first origin.
    public var headers: [HeaderField]?
    /// When the URL stops working. Nil: as its query says, where that has a form that is widely used (S3, Google Cloud Storage,
    /// CloudFront, Azure). A moment that has passed already counts as unknown: clocks differ.
    public var expiresAt: Date?

    public init(_ url: URL, headers: [HeaderField]? = nil, expiresAt: Date? = nil) {
        self.url = url
        self.headers = headers
        self.expiresAt = expiresAt
    }
}

/// What a ``SourceProvider`` is asked.
public struct SourceQuery: Sendable, Hashable {
    /// Why a URL is asked for.
    public enum Reason: Sendable, Hashable {
        /// There has not been any.
        case noneYet
        /// The server did not take the last one: 401, 403, 404, 410; 400, where the URL has a query; or the status of a web
        /// page that came in place of the file.
        case refused(status: Int)
        /// It stops working in a moment, or has stopped.
        case expiring
    }

    /// The download.
    public let id: DownloadID
    /// What its request said: ``DownloadRequest/key``.
    public let key: String?
    /// ``DownloadRequest/group``.
    public let group: String?
    /// ``DownloadRequest/owner``.
    public let owner: String?
    /// ``DownloadRequest/metadata``.
    public let metadata: Metadata?
    /// The last one; nil when there was none yet.
    public let url: URL?
    public let reason: Reason

    /// For trying a provider without a downloader.
    public init(
        id: DownloadID,
        key: String? = nil,
        group: String? = nil,
        owner: String? = nil,
        metadata: Metadata? = nil,
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
