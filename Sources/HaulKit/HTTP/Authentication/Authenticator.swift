internal import Synchronization

/// Knows which authentication scheme each origin wants: Basic until the origin asks for Digest, and never Basic after
/// that.
///
/// All connections share one authenticator: after a challenge to one connection, all of them authenticate in advance,
/// with rising nonce counts.
final class Authenticator: Sendable {
    struct Key: Hashable {
        let origin: Origin
        let credentials: Credentials
    }

    private struct Session {
        /// `nil` if the origin wants a digest that Haul cannot make.
        var challenge: DigestChallenge?
        var count = 0
        let clientNonce: String
    }

    private let sessions = Mutex<[Key: Session]>([:])
    private static let most = 256

    struct Authorization: Sendable {
        let field: String
        /// The nonce of a digest; `nil` for Basic.
        let nonce: String?
    }

    /// Returns the `Authorization` of a request, or `nil` to send none.
    func authorization(_ key: Key, method: String = "GET", target: String) -> Authorization? {
        sessions.withLock { sessions in
            guard var session = sessions[key] else { return Authorization(field: key.credentials.basic, nonce: nil) }
            guard let challenge = session.challenge else { return nil }
            session.count += 1
            sessions[key] = session
            let field = challenge.authorization(
                key.credentials,
                method: method,
                target: target,
                count: session.count,
                clientNonce: session.clientNonce
            )
            return Authorization(field: field, nonce: challenge.nonce)
        }
    }

    /// Evaluates the challenges of a 401 response.
    ///
    /// - Parameters:
    ///   - nonce: the nonce of the request's digest; `nil` if the request had none.
    ///   - isFirst: whether the request has not been repeated for a challenge yet.
    /// - Returns: whether to repeat the request.
    func learn(_ challenges: [AuthenticationChallenge], _ key: Key, sent nonce: String?, isFirst: Bool) -> Bool {
        guard challenges.contains(where: { $0.scheme == "digest" }) else { return false }
        let best = DigestChallenge.best(of: challenges)
        if best == nil, challenges.contains(where: { $0.scheme == "basic" }) { return false }
        // A refused digest proves a wrong password only if its nonce was fresh.
        let isAgain = nonce == nil || best?.isStale == true || isFirst && best?.nonce != nonce
        guard isAgain else { return false }
        sessions.withLock { sessions in
            // Two requests may get the same nonce, whose count must not restart.
            if let best, sessions[key]?.challenge == best { return }
            if sessions.count >= Self.most, sessions[key] == nil { sessions = [:] }
            sessions[key] = Session(challenge: best, clientNonce: Self.newNonce())
        }
        return best != nil
    }

    /// Takes the nonce of the next request from `nextnonce` in `Authentication-Info` (RFC 7616 §3.5).
    func renew(_ fields: [String], _ key: Key) {
        let challenges = AuthenticationChallenge.read(fields.map { "Info " + $0 })
        guard let nonce = challenges.compactMap({ $0.parameters["nextnonce"] }).first else { return }
        sessions.withLock { sessions in
            guard let present = sessions[key]?.challenge, present.nonce != nonce else { return }
            let renewed = present.with(nonce: nonce)
            sessions[key]?.challenge = renewed
            sessions[key]?.count = 0
        }
    }

    private static func newNonce() -> String {
        (0..<4).map { _ in
            let text = String(UInt32.random(in: .min ... .max), radix: 16)
            return String(repeating: "0", count: 8 - text.count) + text
        }.joined()
    }
}
