internal import Crypto
internal import Foundation

/// A challenge of the Digest scheme that Haul can answer (RFC 7616).
package struct DigestChallenge: Sendable, Equatable {
    package enum Hash: String, Sendable, Comparable {
        case md5 = "MD5"
        case sha256 = "SHA-256"

        package static func < (left: Hash, right: Hash) -> Bool { left == .md5 && right == .sha256 }
    }

    package let hash: Hash
    /// Whether the algorithm is a session variant (`-sess`).
    let isSession: Bool
    package let realm: String
    package private(set) var nonce: String
    package let opaque: String?
    /// `false` for servers of RFC 2069, which do not count requests.
    let hasQop: Bool
    let hashesUser: Bool
    /// Whether the server refused the nonce as too old, although the password is right.
    package let isStale: Bool
    /// The algorithm as the server wrote it. Some servers name none, and some expect their own spelling.
    private let algorithm: String?

    /// - Returns: `nil` unless Haul can answer the challenge: Digest with a supported algorithm and `qop`.
    package init?(_ challenge: AuthenticationChallenge) {
        guard challenge.scheme == "digest" else { return nil }
        let parameters = challenge.parameters
        guard let nonce = parameters["nonce"], !nonce.isEmpty, let realm = parameters["realm"] else { return nil }
        algorithm = parameters["algorithm"]
        switch (algorithm ?? "md5").lowercased() {
        case "md5": (hash, isSession) = (.md5, false)
        case "md5-sess": (hash, isSession) = (.md5, true)
        case "sha-256": (hash, isSession) = (.sha256, false)
        case "sha-256-sess": (hash, isSession) = (.sha256, true)
        default: return nil
        }
        if let qop = parameters["qop"] {
            let options = qop.lowercased().split { $0 == "," || $0 == " " }
            guard options.contains("auth") else { return nil }
            hasQop = true
        } else {
            hasQop = false
        }
        self.nonce = nonce
        self.realm = realm
        opaque = parameters["opaque"]
        hashesUser = parameters["userhash"]?.lowercased() == "true"
        isStale = parameters["stale"]?.lowercased() == "true"
        guard [realm, nonce, opaque ?? "", algorithm ?? ""].allSatisfy(Self.isSendable) else { return nil }
    }

    /// Returns the challenge with a new nonce, or `nil` if that nonce cannot be sent.
    package func with(nonce: String) -> DigestChallenge? {
        var challenge = self
        challenge.nonce = nonce
        return nonce.isEmpty || !Self.isSendable(nonce) ? nil : challenge
    }

    private static func isSendable(_ text: String) -> Bool {
        !text.unicodeScalars.contains { $0.properties.generalCategory == .control || $0 == "\u{FFFD}" }
    }

    /// Returns the strongest challenge that Haul can answer; of equal ones the first.
    package static func best(of challenges: [AuthenticationChallenge]) -> DigestChallenge? {
        challenges.compactMap(DigestChallenge.init).reduce(nil) { best, next in
            guard let best else { return next }
            return next.hash > best.hash ? next : best
        }
    }

    /// The value of `Authorization` for one request (RFC 7616 §3.4).
    ///
    /// - Parameters:
    ///   - target: the request target of the request line.
    ///   - count: number of uses of the nonce, including this one.
    package func authorization(
        _ credentials: Credentials,
        method: String,
        target: String,
        count: Int,
        clientNonce: String
    ) -> String {
        var secret = digest(credentials.user + Array(":\(realm):".utf8) + credentials.password)
        if isSession { secret = digest("\(secret):\(nonce):\(clientNonce)") }
        let request = digest("\(method):\(target)")
        let digits = String(count, radix: 16)
        let counter = String(repeating: "0", count: max(0, 8 - digits.count)) + digits
        let response = digest(
            hasQop
                ? "\(secret):\(nonce):\(counter):\(clientNonce):auth:\(request)" : "\(secret):\(nonce):\(request)"
        )
        var parts = [userField(credentials.user), "realm=\(quoted(realm))", "uri=\(quoted(target))"]
        if let algorithm { parts.append("algorithm=\(algorithm)") }
        parts.append("nonce=\(quoted(nonce))")
        if hasQop { parts += ["nc=\(counter)", "qop=auth"] }
        if hasQop || isSession { parts.append("cnonce=\(quoted(clientNonce))") }
        parts.append("response=\"\(response)\"")
        if let opaque { parts.append("opaque=\(quoted(opaque))") }
        if hashesUser { parts.append("userhash=true") }
        return "Digest " + parts.joined(separator: ", ")
    }

    private func userField(_ user: [UInt8]) -> String {
        if hashesUser { return "username=\"\(digest(user + Array(":\(realm)".utf8)))\"" }
        if user.allSatisfy({ (0x20..<0x7F).contains($0) }) {
            return "username=\(quoted(String(decoding: user, as: UTF8.self)))"
        }
        // Encodes a user name that is not printable ASCII (RFC 8187).
        let escaped = user.map { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: String(UnicodeScalar(byte))
            default: "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        return "username*=UTF-8''" + escaped.joined()
    }

    private func quoted(_ text: String) -> String {
        // Escapes scalars, not characters: a quotation mark with a combining mark is one `Character`, but still ends
        // the quoted text.
        let escaped = text.unicodeScalars.flatMap { $0 == "\"" || $0 == "\\" ? ["\\", $0] : [$0] }
        return "\"" + String(String.UnicodeScalarView(escaped)) + "\""
    }

    private func digest(_ text: String) -> String { digest(Array(text.utf8)) }

    private func digest(_ bytes: [UInt8]) -> String {
        switch hash {
        case .md5: Insecure.MD5.hash(data: bytes).hexadecimal
        case .sha256: SHA256.hash(data: bytes).hexadecimal
        }
    }
}
