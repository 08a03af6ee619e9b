package import Foundation
package import NIOCore

/// Reads files over one protocol. ``SourceReaders`` chooses the reader of a request by the scheme of its URL.
///
/// The engine asks for ranges under a condition, and judges the response in the terms of RFC 9110, which its decisions and the
/// store are made of. A reader of another protocol than HTTP translates; ``FileResponse`` does so where length and version of a
/// file are known before its bytes are read. A reader delivers:
///
/// | Asked | Response |
/// |---|---|
/// | everything (not ``TransportRequest/isForRange``) | status 200, all bytes; `Content-Length` where the length is known |
/// | a range | status 206 and the bytes from `firstByte` to before `end`, or to the end of the file, with `Content-Range`. A protocol that cannot read from the middle responds as to a request for everything |
/// | a range that begins at the end of the file or behind it | status 416 with `Content-Range: bytes */LENGTH`, no body |
/// | a range with `If-Range`, and the version is another one now | as to a request for everything |
/// | a range with `If-Match` or `If-Unmodified-Since`, and the version is another one now | status 412, no body |
/// | a file that does not exist | status 404, no body |
/// | a file that may not be read | status 403, or 401 where credentials are missing, no body |
///
/// - Version: each 200 and 206 names it, as an `ETag` of quoted text that is the same only if the bytes are the same. A condition
///   repeats what an earlier response said. With a date alone (`Last-Modified`, and `Date` at least a second later) the engine
///   compares bytes before it resumes; with neither it fetches an interrupted file again, over one connection.
/// - Other failures: the `kind` of the ``TransportError`` decides whether the request is repeated (``RetryClassifier``). One made by
///   ``TransportError/init(reporting:)`` ends the download with exactly its error.
/// - Time: the reader ends a request that makes no progress, with `connectTimeout`, `responseTimeout` or `stalled`. Time in which
///   the receiver holds it back does not count.
/// - HTTP alone: a request's header fields, cookies, spelling and redirects. Other readers ignore them. ``ResponseHead/url`` and
///   ``ResponseHead/requested`` are then the URL of the request.
package protocol SourceReading: Sendable {
    /// The schemes of the URLs that it reads, in lower case.
    var schemes: [String] { get }
    /// Checks whether a URL of its schemes can be requested. Called before a download is added, not for each request.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/invalidURL``.
    func check(_ url: URL) throws(DownloadError)
    /// Takes over changed settings for the requests to come.
    func take(_ configuration: Downloader.Configuration)
    /// Starts a request. The receiver is told everything on an event loop, `ended` last and exactly once. A request that cannot
    /// be sent may end before this returns.
    func open(_ request: TransportRequest, receiver: any ResponseReceiver) -> any Exchange
    /// Ends every exchange and frees the connections.
    func shutDown() async
}

extension SourceReading {
    package func take(_ configuration: Downloader.Configuration) {}
}

/// A request under way.
package protocol Exchange: Sendable {
    /// Breaks it off; the receiver's `ended` follows, if it has not come yet. May be called at any time, from anywhere.
    func cancel()
}

/// Takes in one response. Returned futures are the back-pressure: nothing more is read until they complete, and where one fails,
/// nothing more is wanted: `ended` follows.
package protocol ResponseReceiver: AnyObject, Sendable {
    func headReceived(_ head: ResponseHead, on eventLoop: any EventLoop) -> EventLoopFuture<Void>
    /// - Returns: nil to go on at once.
    func bodyReceived(_ bytes: ByteBuffer, on eventLoop: any EventLoop) -> EventLoopFuture<Void>?
    func ended(_ failure: TransportError?)
}
