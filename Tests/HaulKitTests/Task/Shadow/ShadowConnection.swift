import Foundation

@testable import HaulCore
@testable import HaulKit

/// A connection as the world sees it.
struct ShadowConnection {
    enum Stage { case awaitingURL, held, flowing }

    let id: DownloadMachine.ConnectionID
    let question: RangeRequest
    /// Where it was asked.
    let url: URL
    /// Most bytes that come at once.
    let pace: Int64
    /// Nothing comes any more, and nobody says so.
    let isFrozen: Bool
    var stage = Stage.awaitingURL
    var preparation: DownloadMachine.Preparation?
    var isPrepared = false
    var isAdmitted = false
    var body: ShadowServer.Body?
    /// Next byte of the body.
    var position: Int64 = 0
    /// Nothing is taken from here on.
    var limit = Int64.max

    /// What it may still bring.
    var rest: Range<Int64> {
        guard stage == .flowing, let body else { return 0..<0 }
        return position..<max(position, min(body.end, limit))
    }
}
