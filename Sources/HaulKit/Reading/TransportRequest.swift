package import Foundation

/// What to ask, and how patiently.
package struct TransportRequest: Sendable, Equatable {
    package var url: URL
    /// How path and query were spelled, where `url` does not say it: see ``HTTPURL``.
    var target: String?
    /// The user's own headers: sent to the origin of `url` only.
    package var headers: [HeaderField]
    var method = DownloadRequest.Method.get
    /// First byte wanted.
    package var firstByte: Int64 = 0
    /// The byte after the last one wanted; nil for everything from ``firstByte`` on.
    package var end: Int64?
    /// Under which the range is wanted; means nothing without one.
    var condition = RangeRequest.Condition.none
    var allowsInsecureRedirects: Bool
    /// Somebody else than the user has chosen the URL: a Metalink, a server's `Link` field, a source provider. Only credentials
    /// that name its host go there.
    var isChosenByOthers = false
    /// The download that it is for. One download has no more than a few names looked up at the same time.
    var download: DownloadID?
    /// Those of the download, shared by its connections.
    var cookies: CookieJar?

    /// Whether less than everything is wanted.
    package var isForRange: Bool { firstByte > 0 || end != nil }
    /// The header field of ``condition``; nil without one.
    package var conditionField: (name: String, value: String)? { condition.field }
}
