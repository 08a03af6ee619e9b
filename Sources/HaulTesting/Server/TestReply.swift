/// One action of a ``TestServer`` on the socket. The server adds nothing to a step.
package enum TestStep: Sendable {
    /// A status line, the header fields and the empty line, verbatim.
    case head(status: Int, reason: String, headers: [(String, String)])
    /// These bytes, verbatim.
    case raw([UInt8])
    /// A range of content in writes of 64 KiB, each made when the socket took the one before.
    case body(Range<Int64>, of: TestContent)
    /// A range of content in the chunked coding (RFC 9112 §7.1); without the closing zero chunk if not `terminated`.
    case chunked(Range<Int64>, of: TestContent, terminated: Bool)
    /// A range of content at a steady pace, in about 20 writes a second.
    case slow(Range<Int64>, of: TestContent, bytesPerSecond: Int)
    /// Sends nothing for a while.
    case wait(Duration)
    /// Sends nothing until the condition holds. The server calls the condition every 10 ms on one of its threads, so
    /// the condition must not block.
    case waitUntil(@Sendable () -> Bool)
    /// Sends nothing more. The connection stays open until the peer closes it or the server stops.
    case stall
    /// An orderly end: a FIN, with TLS a close_notify before it.
    case close
    /// With TLS, the end of the TCP connection without a close_notify. Without TLS, the same as `close`.
    case closeAbruptly
    /// A TCP RST, sent after the peer's system has acknowledged all bytes of earlier steps.
    case reset
}

/// The answer of a ``TestServer`` to one request: steps, one after the other.
package struct TestReply: Sendable {
    /// The steps. The server begins a step when the socket has taken all bytes of the step before.
    package var steps: [TestStep]
    /// Whether the connection is kept for another request after the steps; else it ends as with ``TestStep/close``.
    package var keepsAlive: Bool

    /// Makes a reply of these steps. By default the connection is kept for another request.
    package init(_ steps: [TestStep], keepsAlive: Bool = true) {
        self.steps = steps
        self.keepsAlive = keepsAlive
    }

    /// Returns a correct reply with status 200 and a text.
    package static func text(_ text: String) -> TestReply {
        let bytes = Array(text.utf8)
        return TestReply([
            .head(status: 200, reason: "OK", headers: [("Content-Length", "\(bytes.count)")]), .raw(bytes),
        ])
    }

    /// Returns a correct reply with an empty body, for redirects and errors.
    package static func empty(_ status: Int, _ reason: String, headers: [(String, String)] = []) -> TestReply {
        TestReply([.head(status: status, reason: reason, headers: headers + [("Content-Length", "0")])])
    }
}

/// The decision of a ``TestServer`` on a connection that it has accepted.
package enum ConnectionDecision: Sendable {
    /// The server answers the requests of the connection.
    case serve
    /// The server resets the connection without an answer as soon as the client has sent something, or after 0.2 s.
    case reset
    /// The server ends the connection with a FIN at once, without an answer and without TLS.
    case refuseByClosing
}
