package import Foundation
internal import Synchronization

/// Codes for printed links and for connecting a browser extension. Each code is redeemed once, within ten minutes.
package final class OneTimeCodes: Sendable {
    private static let lifetime: TimeInterval = 600
    private static let limit = 100
    private let codes = Mutex<[(code: String, end: Date)]>([])

    package init() {}

    package func make(now: Date = Date()) -> String {
        let code = AccessToken.random()
        codes.withLock { codes in
            codes.removeAll { $0.end < now }
            if codes.count >= Self.limit { codes.removeFirst() }
            codes.append((code, now + Self.lifetime))
        }
        return code
    }

    /// Invalidates a code. Returns whether the code was valid.
    func redeem(_ code: String, now: Date = Date()) -> Bool {
        codes.withLock { codes in
            codes.removeAll { $0.end < now }
            // The comparison need not take constant time: nobody can guess 256 random bits within ten minutes.
            guard let index = codes.firstIndex(where: { $0.code == code }) else { return false }
            codes.remove(at: index)
            return true
        }
    }
}
