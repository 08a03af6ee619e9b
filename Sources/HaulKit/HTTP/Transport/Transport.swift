package import Foundation
package import NIOCore

/// The network as the engine sees it: one GET, its redirects followed.
package protocol Transport: Sendable {
    /// Starts a request. The receiver is told everything on an event loop, `ended` last and exactly once.
    func start(_ request: TransportRequest, receiver: any ResponseReceiver) -> any Exchange
    /// Ends every exchange and frees the connections.
    func shutDown() async
}

/// A request under way.
package protocol Exchange: Sendable {
    /// Breaks it off; the receiver's `ended` follows, if it has not come yet. May be called at any time, from anywhere.
    func cancel()
}

/// Takes in one response. Returned futures are the back-pressure: nothing more is read until they complete.
package protocol ResponseReceiver: AnyObject, Sendable {
    func headReceived(_ head: ResponseHead, on eventLoop: any EventLoop) -> EventLoopFuture<Void>
    /// - Returns: nil to go on at once.
    func bodyReceived(_ bytes: ByteBuffer, on eventLoop: any EventLoop) -> EventLoopFuture<Void>?
    func ended(_ failure: TransportError?)
}

/// What to ask, and how patiently.
package struct TransportRequest: Sendable, Equatable {
    package var url: URL
    /// How path and query were spelled, where `url` does not say it: see ``HTTPURL``.
    var target: String?
    /// The user's own headers: sent to the origin of `url` only.
    package var headers: [HeaderField]
    /// First byte wanted.
    package var firstByte: Int64 = 0
    /// The byte after the last one wanted; nil for everything from ``firstByte`` on. From 0 on without an end, no Range header
    /// is sent.
    package var end: Int64?
    var condition = RangeRequest.Condition.none
    var allowsInsecureRedirects: Bool
    /// Somebody else than the user has chosen the URL: a Metalink, a server's `Link` field, a source provider. Only credentials
    /// that name its host go there.
    var isChosenByOthers = false
    /// Those of the download, shared by its connections.
    var cookies: CookieJar?

    /// The header field of ``condition``; nil without one.
    package var conditionField: (name: String, value: String)? { condition.field }
}
