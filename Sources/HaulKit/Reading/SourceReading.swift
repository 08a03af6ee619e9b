package import Foundation
package import NIOCore

/// Reads files over one protocol. ``SourceReaders`` chooses the reader of a request by the scheme of its URL.
///
/// The engine requests ranges under a condition, and judges each response in the terms of RFC 9110. The store uses
/// these terms too. A reader for another protocol than HTTP translates its responses into these terms; ``FileResponse``
/// does so if length and version of a file are known before its bytes are read. A reader responds to each request as
/// follows:
///
/// - Everything (not ``TransportRequest/isForRange``): status 200 and all bytes, with `Content-Length` if the length is
///   known.
/// - A range: status 206, `Content-Range`, and the bytes from `firstByte` to before `end`, or to the end of the file. A
///   protocol that cannot read from the middle responds as to a request for everything.
/// - A range that begins at the end of the file or behind it: status 416 with `Content-Range: bytes */LENGTH`, no body.
/// - A range with `If-Range` for an old version: as to a request for everything.
/// - A range with `If-Match` or `If-Unmodified-Since` for an old version: status 412, no body.
/// - A file that does not exist: status 404, no body.
/// - A file that may not be read: status 403, or 401 if credentials are missing; no body.
///
/// These rules apply as well:
///
/// - Versions: each 200 and 206 names the version as an `ETag`, a quoted text that is equal only for equal bytes. A
///   condition repeats the text of an earlier response. If a response has only a date (`Last-Modified`, and `Date` at
///   least a second later), the engine also compares the last bytes on disk when it resumes. If a response has neither,
///   the engine fetches an interrupted file again, over one connection.
/// - Other failures: the `kind` of the ``TransportError`` decides whether the request is repeated
///   (``RetryClassifier``). An error made by ``TransportError/init(reporting:)`` ends the download with exactly the
///   reported error.
/// - Time limits: the reader ends a request that makes no progress, with `connectTimeout`, `responseTimeout` or
///   `stalled`. Time in which the receiver holds the reader back does not count.
/// - HTTP only: header fields, cookies, spelling and redirects of a request. Other readers ignore them, and set
///   ``ResponseHead/url`` and ``ResponseHead/requested`` to the URL of the request.
package protocol SourceReading: Sendable {
    /// The schemes of the URLs that the reader reads, in lower case.
    var schemes: [String] { get }
    /// Checks whether a URL of these schemes can be requested. Called for the URLs of added downloads, mirrors and
    /// replaced sources, not before each request.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/invalidURL``.
    func check(_ url: URL) throws(DownloadError)
    /// Applies changed settings to later requests.
    func take(_ configuration: Downloader.Configuration)
    /// Starts a request. The reader calls the receiver on an event loop, and calls `ended` last and exactly once. A
    /// request that cannot be sent may end before this call returns.
    func open(_ request: TransportRequest, receiver: any ResponseReceiver) -> any Exchange
    /// Ends every exchange and closes the connections.
    func shutDown() async
}

extension SourceReading {
    package func take(_ configuration: Downloader.Configuration) {}
}

/// A request under way.
package protocol Exchange: Sendable {
    /// Cancels the request. The receiver's `ended` follows, unless it was called before. May be called at any time,
    /// from any thread.
    func cancel()
}

/// Receives one response. The returned futures are the back-pressure: the reader reads nothing more until they
/// complete. If one fails, the reader stops and calls `ended`.
package protocol ResponseReceiver: AnyObject, Sendable {
    func headReceived(_ head: ResponseHead, on eventLoop: any EventLoop) -> EventLoopFuture<Void>
    /// - Returns: `nil` to continue at once.
    func bodyReceived(_ bytes: ByteBuffer, on eventLoop: any EventLoop) -> EventLoopFuture<Void>?
    /// Returns a future that completes when each byte received so far is written or will never be written. By default,
    /// for a receiver that writes nothing, the future is complete at once.
    func bodyWritten(on eventLoop: any EventLoop) -> EventLoopFuture<Void>
    func ended(_ failure: TransportError?)
}

extension ResponseReceiver {
    package func bodyWritten(on eventLoop: any EventLoop) -> EventLoopFuture<Void> {
        eventLoop.makeSucceededVoidFuture()
    }
}
