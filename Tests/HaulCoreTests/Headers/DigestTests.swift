import Testing

@testable import HaulCore

struct DigestTests {
    private let mufasa = Credentials("Mufasa:Circle of Life")

    private func read(_ fields: String...) -> [AuthenticationChallenge] { AuthenticationChallenge.read(fields) }

    @Test func readsSeveralChallengesOfOneField() {
        let challenges = read(
            "Newauth realm=\"apps, all\", type=1, title=\"Login to \\\"apps\\\"\", Basic realm=simple",
            "Negotiate, Bearer abc/+==, Digest qop=\"auth\" , nonce = x"
        )
        #expect(challenges.map(\.scheme) == ["newauth", "basic", "negotiate", "bearer", "digest"])
        #expect(challenges[0].parameters == ["realm": "apps, all", "type": "1", "title": "Login to \"apps\""])
        #expect(challenges[1].parameters == ["realm": "simple"])
        #expect(challenges[4].parameters == ["qop": "auth", "nonce": "x"])
    }

    /// The example of RFC 7616 §3.9.1.
    @Test(arguments: [
        ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
        ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
    ])
    func answersAsTheStandardsExample(_ algorithm: String, _ response: String) throws {
        let field = """
            Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=\(algorithm), \
            nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"
            """
        let challenge = try #require(DigestChallenge.best(of: read(field)))
        let answer = challenge.authorization(
            mufasa,
            method: "GET",
            target: "/dir/index.html",
            count: 1,
            clientNonce: "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"
        )
        #expect(
            answer.hasPrefix("Digest username=\"Mufasa\", realm=\"http-auth@example.org\", uri=\"/dir/index.html\"")
        )
        #expect(answer.contains("response=\"\(response)\""))
        #expect(answer.contains("nc=00000001, qop=auth") && answer.contains("algorithm=\(algorithm)"))
    }

    /// The example of RFC 2617 §3.5, without `qop` and thus without a nonce count, as in RFC 2069.
    @Test func answersAServerThatCountsNothing() throws {
        let field = "Digest realm=\"testrealm@host.com\", nonce=\"dcd98b7102dd2f0e8b11d0f600bfb0c093\""
        let challenge = try #require(DigestChallenge.best(of: read(field)))
        let credentials = Credentials("Mufasa:CircleOfLife")
        let answer = challenge.authorization(
            credentials,
            method: "GET",
            target: "/dir/index.html",
            count: 1,
            clientNonce: "x"
        )
        #expect(answer.contains("response=\"1949323746fe6a43ef61f9606e7febea\""))
        #expect(!answer.contains("cnonce") && !answer.contains("nc=") && !answer.contains("algorithm"))
    }

    @Test func hashesTheUserWhereItIsAskedTo() throws {
        let field = """
            Digest realm="api@example.org", qop="auth", algorithm=SHA-256, nonce="n", userhash=true
            """
        let challenge = try #require(DigestChallenge.best(of: read(field)))
        let answer = challenge.authorization(mufasa, method: "GET", target: "/", count: 1, clientNonce: "c")
        #expect(answer.contains("userhash=true") && !answer.contains("Mufasa"))
    }

    @Test func spellsAUserThatIsNotASCII() throws {
        let challenge = try #require(DigestChallenge.best(of: read("Digest realm=r, nonce=n, qop=auth")))
        let user = Credentials("Jäsøn:x")
        let answer = challenge.authorization(user, method: "GET", target: "/", count: 1, clientNonce: "c")
        #expect(answer.contains("username*=UTF-8''J%C3%A4s%C3%B8n"))
    }

    @Test(arguments: [
        "Digest realm=r", "Digest nonce=n", "Digest realm=r, nonce=n, algorithm=SHA-512-256",
        "Digest realm=r, nonce=n, qop=auth-int", "Basic realm=r", "Digest", "",
    ])
    func answersNoChallengeThatItDoesNotUnderstand(_ field: String) {
        #expect(DigestChallenge.best(of: read(field)) == nil)
    }

    @Test func choosesTheStrongest() {
        let fields = read(
            "Basic realm=b, Digest realm=1, nonce=n, algorithm=MD5, Digest realm=2, nonce=n, algorithm=SHA-256-sess",
            "Digest realm=3, nonce=n, algorithm=SHA-256, Digest realm=4, nonce=n, algorithm=SHA-512-256"
        )
        let best = DigestChallenge.best(of: fields)
        #expect(best?.realm == "2" && best?.isSession == true)
    }

    @Test func neverTrapsOnHostileChallenges() {
        let alphabet = [
            "Digest", " ", ",", "=", "\"", "\\", "realm", "nonce", "qop", "auth", "é", "/", "\t", "Basic", "==",
        ]
        var found = 0
        for text in HostileStrings(of: alphabet, count: 5000, upTo: 14, seed: 2) {
            _ = DigestChallenge.best(of: read(text))
            guard let challenge = DigestChallenge.best(of: read("Digest realm=\"r\", nonce=\"n\"" + text)) else {
                continue
            }
            found += 1
            let answer = challenge.authorization(mufasa, method: "GET", target: "/", count: 1, clientNonce: "x")
            let said = read(answer).first?.parameters
            #expect(said?["realm"] == challenge.realm && said?["nonce"] == challenge.nonce, "\(text)")
        }
        #expect(found > 100)
    }

    @Test func escapesAQuotationMarkThatAMarkFollows() throws {
        let field = "Digest realm=\"a\\\"\u{301}b\", nonce=\"c\\\\\u{E0041}\""
        let challenge = try #require(DigestChallenge.best(of: read(field)))
        let answer = challenge.authorization(mufasa, method: "GET", target: "/", count: 1, clientNonce: "x")
        let said = try #require(read(answer).first?.parameters)
        #expect(said["realm"] == challenge.realm && said["nonce"] == challenge.nonce)
    }
}
