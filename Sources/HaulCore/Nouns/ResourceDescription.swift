public import Foundation

/// A server's description of a file that is not downloaded yet: the result of
/// ``Downloader/probe(_:)-(DownloadRequest)``. The answer to a later request may differ.
public struct ResourceDescription: Sendable, Hashable {
    /// The URL that answered, after redirects, without user info. May hold a token.
    public let url: URL
    /// The file name that a download into a folder would get if the name is free there: from `Content-Disposition` (RFC
    /// 6266), ``DownloadRequest/suggestedName`` or the URL, made safe. For a stream, the name of the film.
    public package(set) var fileName: String
    /// Complete length in bytes; `nil` when the server does not name it, or compresses the content.
    public let totalBytes: Int64?
    /// Media type in lower case without parameters, such as `video/mp4`; `nil` when the server names none.
    public let contentType: String?
    /// Whether the server served a range (RFC 9110 §14): an interrupted download can be resumed, and additional
    /// connections can be opened.
    public let servesRanges: Bool
    /// The entity tag (RFC 9110 §8.8.3) verbatim, with its quotes; `nil` without a valid one.
    public let entityTag: String?
    /// The value of `Last-Modified` (RFC 9110 §8.8.2); `nil` without a valid one.
    public let lastModified: Date?
    /// Variants and tracks of the stream, if the file is a playlist of HTTP Live Streaming; `nil` for other files, and
    /// if the request wants the playlist itself (``DownloadRequest/Stream/keepsPlaylist``).
    public package(set) var stream: Stream?

    package init(
        url: URL,
        fileName: String,
        totalBytes: Int64? = nil,
        contentType: String? = nil,
        servesRanges: Bool = true,
        entityTag: String? = nil,
        lastModified: Date? = nil
    ) {
        self.url = url
        self.fileName = fileName
        self.totalBytes = totalBytes
        self.contentType = contentType
        self.servesRanges = servesRanges
        self.entityTag = entityTag
        self.lastModified = lastModified
    }
}

extension ResourceDescription {
    /// Reads the head of the answer to a request for the first byte.
    ///
    /// - Throws: ``DownloadError`` when the answer has no file, or does not fit the request.
    package init(_ head: ResponseHead, to request: DownloadRequest) throws(DownloadError) {
        let range = head.contentRange
        let isCoded = head.contentCoding != nil
        switch (head.status, range) {
        case (200, _), (203, _):
            totalBytes = isCoded ? nil : head.contentLength
            servesRanges = false
        case (206, .satisfied(let bytes, let complete)) where bytes.lower == 0:
            totalBytes = isCoded ? nil : complete
            servesRanges = !isCoded
        case (206, _):
            let failure = TransportError(.malformedResponse, "a 206 without the range that was asked for")
            throw RetryClassifier.decision(on: failure, host: request.url.host ?? "").error
        case (416, .unsatisfied(complete: 0)):
            // An empty file has no first byte.
            totalBytes = 0
            servesRanges = true
        default:
            throw DownloadError(refusedWith: head.status, credentials: head.credentials)
        }
        url = head.url.withoutUserInfo()
        contentType = head.status == 416 ? nil : head.mediaType
        fileName = FileName.choose(
            contentDisposition: head.headers.first(name: "Content-Disposition"),
            suggested: request.suggestedName,
            urls: [head.url, head.requested],
            mediaType: isCoded ? nil : contentType
        )
        let validator = Validator(head)
        entityTag = validator.entityTag.flatMap { $0.isWellFormed ? $0.text : nil }
        lastModified = validator.lastModified.flatMap(HTTPDate.parse)
    }
}
