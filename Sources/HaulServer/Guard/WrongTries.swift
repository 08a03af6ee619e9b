internal import Foundation
internal import HTTPTypes
internal import Synchronization

/// Allows 20 wrong tries to sign in per minute, over all clients. The right token is compared first, so the wrong tries
/// of others never lock its owner out.
package final class WrongTries: Sendable {
    private let tries = Mutex<[Date]>([])
    private static let limit = 20

    /// Records a wrong try.
    ///
    /// - Returns: 401, or 429 when there were too many.
    func problem(now: Date = Date()) -> Problem {
        let count = tries.withLock { tries in
            tries.removeAll { $0 < now - 60 }
            if tries.count <= Self.limit { tries.append(now) }
            return tries.count
        }
        guard count > Self.limit else {
            return Problem(.unauthorized, "unauthorized", "The token or code is not right.")
        }
        return Problem(
            .tooManyRequests,
            "tooManyTries",
            "Too many wrong tokens or codes. Try again in a minute.",
            retryAfter: 60
        )
    }
}
