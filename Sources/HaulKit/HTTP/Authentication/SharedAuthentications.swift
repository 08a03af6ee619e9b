internal import Synchronization

/// Shares the authentications of all origins among all connections: after a challenge to one connection, all of them
/// authenticate in advance, with rising nonce counts. ``Authentications`` holds the rules.
final class SharedAuthentications: Sendable {
    private let authentications = Mutex(Authentications())

    /// Returns the `Authorization` of a request, or `nil` to send none.
    func authorization(_ key: Authentications.Key, method: String, target: String) -> Authentications.Authorization? {
        authentications.withLock { $0.authorization(key, method: method, target: target) }
    }

    /// Evaluates the challenges of a 401 response; see ``Authentications/learn(_:_:sent:isFirst:clientNonce:)``.
    func learn(
        _ challenges: [AuthenticationChallenge],
        _ key: Authentications.Key,
        sent nonce: String?,
        isFirst: Bool
    ) -> Bool {
        let clientNonce = Self.newNonce()
        return authentications.withLock {
            $0.learn(challenges, key, sent: nonce, isFirst: isFirst, clientNonce: clientNonce)
        }
    }

    /// Takes the nonce of the next request from the `Authentication-Info` fields of an answer.
    func renew(_ fields: [String], _ key: Authentications.Key) {
        guard !fields.isEmpty else { return }
        authentications.withLock { $0.renew(fields, key) }
    }

    private static func newNonce() -> String {
        (0..<4).map { _ in
            let text = String(UInt32.random(in: .min ... .max), radix: 16)
            return String(repeating: "0", count: 8 - text.count) + text
        }.joined()
    }
}
