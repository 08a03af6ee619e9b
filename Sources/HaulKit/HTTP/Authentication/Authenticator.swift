internal import Synchronization

/// How each origin wants to be told who asks: Basic until it asks for Digest, and never Basic again after that.
///
/// Shared by all connections: what one of them was asked for the others say unasked, with counts that rise.
final class Authenticator: Sendable {
    struct Key: Hashable {
        let origin: Origin
        let credentials: Credentials
    }

    private struct Session {
        /// Nil where the origin wants a digest of a kind that Haul cannot make.
        var challenge: DigestChallenge?
        var count = 0
        let clientNonce: String
    }

    private let sessions = Mutex<[Key: Session]>([:])
    private static let most = 256

    struct Authorization: Sendable {
        let field: String
        /// Of a digest: which nonce it is made for.
        let nonce: String?
    }

    /// What to say in a request; nil for nothing.
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

    /// Takes in the challenges of a 401.
    ///
    /// - Parameters:
    ///   - nonce: the one that the request was made with, if it was a digest.
    ///   - isFirst: the question was not asked again yet for this reason.
    /// - Returns: whether to ask again.
    func learn(_ challenges: [AuthenticationChallenge], _ key: Key, sent nonce: String?, isFirst: Bool) -> Bool {
        guard challenges.contains(where: { $0.scheme == "digest" }) else { return false }
        let best = DigestChallenge.best(of: challenges)
        if best == nil, challenges.contains(where: { $0.scheme == "basic" }) { return false }
        // Made with a nonce of long ago, a digest that is refused says nothing of the password; made with a new one it does.
        let isAgain = nonce == nil || best?.isStale == true || isFirst && best?.nonce != nonce
        guard isAgain else { return false }
        sessions.withLock { sessions in
            // Two requests may get the same nonce: its count must not start again.
            if let best, sessions[key]?.challenge == best { return }
            if sessions.count >= Self.most, sessions[key] == nil { sessions = [:] }
            sessions[key] = Session(challenge: best, clientNonce: Self.newNonce())
        }
        return best != nil
    }

    /// The server names the nonce for what comes next: `nextnonce` of `Authentication-Info` (RFC 7616 §3.5).
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
