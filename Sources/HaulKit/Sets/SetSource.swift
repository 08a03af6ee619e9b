public import Foundation

/// The publisher of a set: lists the files with their URLs, sizes and digests.
///
/// ``PublishedSet`` has the sources that Haul knows. For another publisher, the application defines its own type, which
/// needs only ``list(_:)``.
public protocol SetSource: Sendable {
    /// The URL of the list or of the hub, whose origin gets ``SetOptions/headers``. Default: `nil`, for no origin.
    var location: URL? { get }
    /// Lists the files of the set. ``Downloader/sync(_:into:options:)`` calls it once, outside any actor.
    ///
    /// - Parameter documents: reads documents over the downloader's network settings.
    /// - Throws: ``DownloadError``, which ends the sync before it requests a file.
    func list(_ documents: SetDocuments) async throws(DownloadError) -> FileSet
}

extension SetSource {
    /// `nil`, so that no origin gets ``SetOptions/headers``.
    public var location: URL? { nil }
}

/// Reads the documents from which a ``SetSource`` makes its list.
public struct SetDocuments: Sendable {
    let downloader: Downloader
    /// The user's header fields for the origin of ``home``.
    var headers: [HeaderField] = []
    /// The URL that the user named. All other URLs come from fetched documents.
    var home: URL?
    var allowsInsecureRedirects = false
    /// Patterns of the names that the sync leaves out. Lists of digests among them are not read.
    var except: [PathPattern] = []

    /// Length of the longest document that is read, in bytes.
    public static let mostBytes = 64 << 20

    /// Fetches a document into memory. Proxies, certificates, `.netrc`, redirects and repeated attempts work as in a
    /// download of the URL. Waits no longer than ``RetryPolicy/retryAfterCap`` because of `Retry-After`.
    ///
    /// - Parameters:
    ///   - url: an `http` or `https` URL.
    ///   - headers: header fields for the origin of the URL; a redirect to another origin drops them.
    /// - Throws: ``DownloadError`` with the codes of a download; ``DownloadError/Code/invalidSet`` for a document of
    ///   more than ``mostBytes``.
    public func read(_ url: URL, headers: [HeaderField] = []) async throws(DownloadError) -> SetDocument {
        try await read(url, headers: headers) { _ in nil }
    }

    /// - Parameter refusal: returns the error for a response whose status is neither 200 nor 203; `nil` to handle the
    ///   response as a download does.
    func read(
        _ url: URL,
        headers: [HeaderField],
        refusal: @escaping @Sendable (ResponseHead) -> DownloadError?
    ) async throws(DownloadError) -> SetDocument {
        var request = DownloadRequest(url, to: .folder(path: "."))
        request.headers = headers + (home.map(Origin.init) == Origin(url) ? self.headers : [])
        request.isChosenByDocument = url != home
        request.allowsInsecureRedirects = allowsInsecureRedirects
        let terms = Downloader.DocumentTerms(
            mostBytes: Self.mostBytes,
            unusable: { .invalidSet("The document at \(url.masked) cannot be used: \($0).") },
            refusal: refusal
        )
        return try await downloader.document(request, terms)
    }
}

/// A document that ``SetDocuments/read(_:headers:)`` has fetched into memory.
public struct SetDocument: Sendable {
    /// The body of the answer, at most ``SetDocuments/mostBytes``.
    public let bytes: [UInt8]
    /// The URL that answered, after redirects. Names in the document are relative to it.
    public let url: URL
    /// Media type in lower case without parameters, such as `application/json`; `nil` without `Content-Type`.
    public let mediaType: String?
    let headers: HeaderFields
    /// Whether the answer says where the document ends. Otherwise a part of the document looks like the whole.
    let isFramed: Bool

    init(_ bytes: [UInt8], _ head: ResponseHead) {
        self.bytes = bytes
        url = head.url
        mediaType = head.mediaType
        headers = head.headers
        isFramed = head.isFramed
    }
}

extension FileSet {
    /// Notes that the end of a list may be missing, because the connection that brought it may have broken.
    mutating func noteUnknownEnd(of list: String) {
        damage = damage ?? RefusedName(list, "The server does not say where it ends, so files may be missing from it.")
    }
}

extension DownloadError {
    static func tooManyFiles(_ place: String) -> DownloadError {
        .invalidSet("\(place) has more than \(FileSet.maximumNames) names")
    }
}
