import Testing

@testable import HaulCore

struct AuthenticationsTests {
    private let key = Authentications.Key(origin: Origin(link("https://h/")), credentials: Credentials("u:p"))

    private func read(_ field: String) -> [AuthenticationChallenge] { AuthenticationChallenge.read([field]) }

    private func challenge(_ nonce: String, _ more: String = "") -> [AuthenticationChallenge] {
        read("Digest realm=r, qop=auth, nonce=\(nonce)\(more)")
    }

    @Test func saysBasicUntilADigestIsWanted() throws {
        var known = Authentications()
        let first = known.authorization(key, target: "/")
        #expect(first?.field == "Basic dTpw" && first?.nonce == nil)
        let isOther = known.learn(read("Basic realm=x"), key, sent: nil, isFirst: true, clientNonce: "c")
        #expect(!isOther)
        let second = known.authorization(key, target: "/")
        #expect(second?.field == "Basic dTpw")
        let wantsDigest = known.learn(challenge("n1"), key, sent: nil, isFirst: true, clientNonce: "c")
        #expect(wantsDigest)
        for count in 1...3 {
            let authorization = known.authorization(key, target: "/")
            let said = try #require(authorization)
            #expect(said.nonce == "n1" && said.field.contains("nc=0000000\(count)"))
            #expect(said.field.contains("cnonce=\"c\""))
        }
        let other = Authentications.Key(origin: Origin(link("https://o/")), credentials: key.credentials)
        let elsewhere = known.authorization(other, target: "/")
        #expect(elsewhere?.field == "Basic dTpw")
    }

    @Test func saysNoPasswordToAnyOfManyOriginsThatWantDigests() {
        var known = Authentications()
        let keys = (0..<300)
            .map { Authentications.Key(origin: Origin(link("https://h\($0)/")), credentials: key.credentials) }
        for key in keys { _ = known.learn(challenge("n"), key, sent: nil, isFirst: true, clientNonce: "c") }
        for key in keys {
            let said = known.authorization(key, target: "/")
            #expect(said?.nonce == "n")
        }
    }

    @Test func saysNothingWhereADigestIsWantedThatItCannotMake() {
        var known = Authentications()
        let field = read("Digest realm=r, nonce=n, algorithm=X")
        let isAnswerable = known.learn(field, key, sent: nil, isFirst: true, clientNonce: "c")
        #expect(!isAnswerable)
        let said = known.authorization(key, target: "/")
        #expect(said == nil)
    }

    /// Each case is a 401 to a request that was sent with a nonce.
    @Test func takesANewNonceButNoRefusalTwice() {
        let cases: [(nonce: String, more: String, sent: String?, isFirst: Bool, isOther: Bool)] = [
            ("n1", "", nil, true, true), ("n1", "", "n1", true, false), ("n2", "", "n1", true, true),
            ("n3", "", "n2", false, false), ("n4", ", stale=TRUE", "n2", false, true),
        ]
        var known = Authentications()
        for (nonce, more, sent, isFirst, expected) in cases {
            let isOther = known.learn(challenge(nonce, more), key, sent: sent, isFirst: isFirst, clientNonce: "c")
            #expect(isOther == expected, "\(nonce) after \(sent ?? "none")")
        }
        known.renew(["nextnonce=\"n5\", rspauth=\"x\""], key)
        let said = known.authorization(key, target: "/")
        #expect(said?.nonce == "n5")
    }

    /// RFC 7616 §3.4: the count of a nonce only rises.
    @Test func countsOnWhereANonceIsToldTwice() {
        var known = Authentications()
        for count in 1...2 {
            let isOther = known.learn(challenge("n1"), key, sent: nil, isFirst: true, clientNonce: "c\(count)")
            let said = known.authorization(key, target: "/")
            #expect(isOther && said?.field.contains("nc=0000000\(count)") == true)
        }
        known.renew(["nextnonce=\"n1\""], key)
        let said = known.authorization(key, target: "/")
        #expect(said?.field.contains("nc=00000003") == true)
    }
}
