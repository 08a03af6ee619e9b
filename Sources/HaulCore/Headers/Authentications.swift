/// Knows the authentication scheme that each origin wants: Basic until the origin asks for Digest, then Digest. Keeps
/// at most 256 keys that want Digest, and forgets all of them when one more comes.
package struct Authentications: Sendable {
    /// An origin and the credentials for it.
    package struct Key: Sendable, Hashable {
        package let origin: Origin
        package let credentials: Credentials

        package init(origin: Origin, credentials: Credentials) {
            self.origin = origin
            self.credentials = credentials
        }
    }

    /// The `Authorization` field of a request.
    package struct Authorization: Sendable, Equatable {
        package let field: String
        /// The nonce of a digest; `nil` for Basic.
        package let nonce: String?
    }

    private struct Session {
        /// `nil` if the origin wants a digest that Haul cannot make.
        var challenge: DigestChallenge?
        var count = 0
        let clientNonce: String
    }

    private var sessions: [Key: Session] = [:]
    /// A forgotten origin gets Basic once more, so there is room for more origins than one process has passwords for.
    private static let most = 65_536

    package init() {}

    /// Returns the `Authorization` of a request, or `nil` to send none.
    package mutating func authorization(_ key: Key, method: String = "GET", target: String) -> Authorization? {
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

    /// Evaluates the challenges of a 401 response.
    ///
    /// - Parameters:
    ///   - nonce: the nonce of the request's digest; `nil` if the request had none.
    ///   - isFirst: whether the request has not been repeated for a challenge yet.
    ///   - clientNonce: a fresh random text.
    /// - Returns: whether to repeat the request.
    package mutating func learn(
        _ challenges: [AuthenticationChallenge],
        _ key: Key,
        sent nonce: String?,
        isFirst: Bool,
        clientNonce: String
    ) -> Bool {
        guard challenges.contains(where: { $0.scheme == "digest" }) else { return false }
        let best = DigestChallenge.best(of: challenges)
        if best == nil, challenges.contains(where: { $0.scheme == "basic" }) { return false }
        // A refused digest proves a wrong password only if its nonce was fresh.
        let isAgain = nonce == nil || best?.isStale == true || isFirst && best?.nonce != nonce
        guard isAgain else { return false }
        // Keeps the session if two requests got the same nonce, because the count of a nonce must not restart.
        if let best, sessions[key]?.challenge == best { return true }
        if sessions.count >= Self.most, sessions[key] == nil, let other = sessions.keys.randomElement() {
            sessions[other] = nil
        }
        sessions[key] = Session(challenge: best, clientNonce: clientNonce)
        return best != nil
    }

    /// Takes the nonce of the next request from `nextnonce` in `Authentication-Info` (RFC 7616 §3.5).
    package mutating func renew(_ fields: [String], _ key: Key) {
        let challenges = AuthenticationChallenge.read(fields.map { "Info " + $0 })
        guard let nonce = challenges.compactMap({ $0.parameters["nextnonce"] }).first else { return }
        guard let present = sessions[key]?.challenge, present.nonce != nonce else { return }
        let renewed = present.with(nonce: nonce)
        sessions[key]?.challenge = renewed
        sessions[key]?.count = 0
    }
}
