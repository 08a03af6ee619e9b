import Foundation
import Testing

@testable import HaulCore

struct AnswerJudgementTests {
    private let login = RequestFields.Login(Credentials("u:p"), from: .url)

    /// An exchange that has sent one request.
    private struct Exchange {
        var redirects: RedirectPolicy
        var known = Authentications()
        let fields: RequestFields
        var request: RequestFields.Request
        var challenges = 0

        init(
            _ url: String = "https://h/a",
            allowsInsecure: Bool = false,
            isPost: Bool = false,
            login: RequestFields.Login? = nil
        ) {
            redirects = RedirectPolicy(link(url), allowsInsecure: allowsInsecure, hasBody: isPost)
            let method = isPost ? DownloadRequest.Method.post(body: Data("{}".utf8), type: "text/plain") : .get
            fields = RequestFields(userAgent: "Haul", method: method, login: login)
            request = fields.request(after: redirects) { _ in nil }
            prepare()
        }

        private mutating func prepare() {
            request = fields.request(after: redirects) { _ in nil }
            guard let key = request.key, let field = known.authorization(key, target: "/") else { return }
            request.authorize(with: field)
        }

        /// Judges an answer, and sends the request that it leads to.
        mutating func judge(_ status: Int, _ headers: KeyValuePairs<String, String> = [:], isForwarded: Bool = false)
            -> AnswerJudgement
        {
            var known = self.known
            let nonce = request.nonce
            let judgement = AnswerJudgement.judge(
                .answer(status, headers),
                to: request,
                after: redirects,
                challenges: challenges,
                isForwarded: isForwarded
            ) { list, key, isFirst in
                known.learn(list, key, sent: nonce, isFirst: isFirst, clientNonce: "c")
            }
            self.known = known
            switch judgement {
            case .redirect(let next): (redirects, challenges) = (next, 0)
            case .authenticate: challenges += 1
            default: return judgement
            }
            prepare()
            return judgement
        }
    }

    @Test(arguments: [200, 206, 304, 400, 401, 403, 404, 407, 412, 416, 503])
    func deliversAnAnswer(_ status: Int) {
        var exchange = Exchange()
        let judgement = exchange.judge(status, ["Location": "/b"])
        #expect(judgement == .deliver)
    }

    @Test(arguments: [301, 302, 303, 307, 308])
    func followsARedirectWithALocation(_ status: Int) {
        var exchange = Exchange()
        let without = exchange.judge(status)
        #expect(without == .deliver)
        let with = exchange.judge(status, ["Location": "/b"])
        #expect(with == .redirect(exchange.redirects))
        #expect(exchange.redirects.url == link("https://h/b") && exchange.redirects.carriesUserHeaders)
    }

    @Test(
        arguments: [
            ("ftp://h/b", .badRedirect), ("https:///x", .badRedirect), ("http://h/b", .insecureRedirect),
            ("http://o/b", .insecureRedirect),
        ] as [(String, TransportError.Kind)]
    )
    func failsOnARedirectThatItDoesNotFollow(_ location: String, _ kind: TransportError.Kind) {
        var exchange = Exchange()
        let judgement = exchange.judge(302, ["Location": location])
        #expect(judgement == .fail(TransportError(kind)))
    }

    @Test func followsAnInsecureRedirectIfAllowed() {
        var exchange = Exchange(allowsInsecure: true)
        _ = exchange.judge(302, ["Location": "http://h/b"])
        #expect(exchange.redirects.url == link("http://h/b") && !exchange.redirects.carriesUserHeaders)
    }

    @Test func failsAfterTenRedirects() {
        var exchange = Exchange()
        for step in 1...RedirectPolicy.most { _ = exchange.judge(302, ["Location": "/\(step)"]) }
        #expect(exchange.redirects.url == link("https://h/10"))
        let last = exchange.judge(302, ["Location": "/11"])
        #expect(last == .fail(TransportError(.tooManyRedirects)))
    }

    @Test(arguments: [("/b", true), ("https://o/b", false)])
    func takesCredentialsToTheSameOriginOnly(_ location: String, _ isSent: Bool) {
        var exchange = Exchange(login: login)
        #expect(exchange.request.credentials == .url)
        _ = exchange.judge(302, ["Location": location])
        let (source, fields): (CredentialSource?, [String]) = isSent ? (.url, ["Basic dTpw"]) : (nil, [])
        #expect(exchange.request.credentials == source && exchange.request.headers["Authorization"] == fields)
        // Without credentials a challenge is an answer like any other.
        let challenged = exchange.judge(401, ["WWW-Authenticate": "Digest realm=r, nonce=n, qop=auth"])
        #expect(challenged == (isSent ? AnswerJudgement.authenticate : .deliver))
    }

    @Test func takesNoPostToAnotherOrigin() {
        for status in [307, 308] {
            var exchange = Exchange(isPost: true)
            let judgement = exchange.judge(status, ["Location": "https://o/b"])
            guard case .fail(let error) = judgement else {
                Issue.record("\(judgement)")
                continue
            }
            #expect(error.report?.code == .refusedByServer && error.report?.status == status)
        }
        var exchange = Exchange(isPost: true)
        _ = exchange.judge(303, ["Location": "https://o/b"])
        #expect(exchange.request.method == "GET")
    }

    // MARK: Challenges

    @Test func deliversARefusalOfBasic() {
        var exchange = Exchange(login: login)
        let judgement = exchange.judge(401, ["WWW-Authenticate": "Basic realm=r"])
        #expect(judgement == .deliver)
    }

    @Test func answersADigestOnce() {
        var exchange = Exchange(login: login)
        let first = exchange.judge(401, ["WWW-Authenticate": "Basic realm=r, Digest realm=r, nonce=n1, qop=auth"])
        #expect(first == .authenticate && exchange.request.nonce == "n1")
        let second = exchange.judge(401, ["WWW-Authenticate": "Digest realm=r, nonce=n2, qop=auth"])
        #expect(second == .deliver)
    }

    @Test func answersAStaleNonceAFewTimes() {
        var exchange = Exchange(login: login)
        for number in 1...AnswerJudgement.mostChallenges {
            let judgement = exchange.judge(
                401,
                ["WWW-Authenticate": "Digest realm=r, nonce=n\(number), qop=auth, stale=true"]
            )
            #expect(judgement == .authenticate)
        }
        let last = exchange.judge(401, ["WWW-Authenticate": "Digest realm=r, nonce=n9, qop=auth, stale=true"])
        #expect(last == .deliver)
    }

    @Test func countsChallengesAnewBehindARedirect() {
        var exchange = Exchange(login: login)
        _ = exchange.judge(401, ["WWW-Authenticate": "Digest realm=r, nonce=n1, qop=auth"])
        _ = exchange.judge(302, ["Location": "/b"])
        let judgement = exchange.judge(401, ["WWW-Authenticate": "Digest realm=r, nonce=n2, qop=auth"])
        #expect(judgement == .authenticate)
    }

    @Test(arguments: [false, true])
    func takesA407ForTheProxysOnlyIfItGotTheRequest(_ isForwarded: Bool) {
        var exchange = Exchange(login: login)
        let judgement = exchange.judge(407, ["Location": "/b"], isForwarded: isForwarded)
        #expect(judgement == (isForwarded ? AnswerJudgement.proxyChallenge : .deliver))
    }
}
