package import Foundation

/// A request for a file or for a range of it.
package struct TransportRequest: Sendable, Equatable {
    package var url: URL
    /// The spelling of path and query, if `url` does not preserve it; see ``HTTPURL``.
    var target: String?
    /// The user's header fields, which are sent only to the origin of `url`.
    package var headers: [HeaderField]
    var method = DownloadRequest.Method.get
    /// Position of the first requested byte.
    package var firstByte: Int64 = 0
    /// Position after the last requested byte; `nil` for all bytes from ``firstByte`` on.
    package var end: Int64?
    /// The condition of a range request; ignored without a range.
    var condition = RangeRequest.Condition.none
    var allowsInsecureRedirects: Bool
    /// Whether the URL was chosen by a Metalink, a server's `Link` field or a source provider, not by the user. Such a
    /// URL gets only credentials that name its host.
    var isChosenByOthers = false
    /// Host of the playlist that names the URL; `nil` for a URL that no playlist names. The request may connect to an
    /// address that is not public only if this host has such an address too.
    var playlistHost: String?
    /// The download that sends the request; `nil` for none. ``LookupQueue`` limits the simultaneous lookups of one
    /// download.
    var download: DownloadID?
    /// The cookies of the download, shared by its connections.
    var cookies: CookieJar?

    /// Whether the request is for a part of the file.
    package var isForRange: Bool { firstByte > 0 || end != nil }
    /// The header field of ``condition``; `nil` without a condition.
    package var conditionField: (name: String, value: String)? { condition.field }
}
