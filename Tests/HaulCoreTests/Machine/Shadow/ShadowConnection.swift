import Foundation

@testable import HaulCore

/// A connection as seen from outside the machine.
struct ShadowConnection {
    enum Stage { case awaitingURL, held, flowing }

    let id: DownloadMachine.ConnectionID
    let question: RangeRequest
    /// The requested URL.
    let url: URL
    /// Largest number of bytes that arrive at once.
    let pace: Int64
    /// Whether the server falls silent without an error.
    let isFrozen: Bool
    var stage = Stage.awaitingURL
    var preparation: DownloadMachine.Preparation?
    var isPrepared = false
    var isAdmitted = false
    var body: ShadowServer.Body?
    /// Offset of the next byte of the body.
    var position: Int64 = 0
    /// Offset from which no more bytes are taken.
    var limit = Int64.max
    /// Whether the connection brought other bytes than another one had repeated.
    var hasMixed = false

    /// The range that the connection may still bring.
    var rest: Range<Int64> {
        guard stage == .flowing, let body else { return 0..<0 }
        return position..<max(position, min(body.end, limit))
    }
}
