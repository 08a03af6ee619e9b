import Foundation
import Testing

@testable import HaulCore

struct RequestFieldsTests {
    private let home = link("https://h/a")

    /// Returns the first request, or the one after redirects.
    private func request(
        _ fields: RequestFields,
        after locations: [(status: Int, location: String)] = [],
        cookies: ([String]) -> String? = { _ in nil }
    ) throws -> RequestFields.Request {
        var redirects = RedirectPolicy(home, allowsInsecure: false, hasBody: fields.method != .get)
        for (status, location) in locations { try redirects.follow(location: location, status: status) }
        return fields.request(after: redirects, cookies: cookies)
    }

    private func fields(_ user: String..., login: RequestFields.Login? = nil) -> RequestFields {
        RequestFields(user: user.compactMap { HeaderField($0) }, userAgent: "Haul", login: login)
    }

    private func text(_ request: RequestFields.Request) -> [String] {
        request.headers.lines.map { "\($0.name): \($0.value)" }
    }

    @Test func asksForUncodedBytes() throws {
        #expect(try text(request(fields())) == ["User-Agent: Haul", "Accept: */*", "Accept-Encoding: identity"])
    }

    @Test func leavesTheUsersOwnFields() throws {
        let own = fields("user-agent: me", "ACCEPT: text/plain", "X-Key: 1", "X-Key: 2")
        #expect(
            try text(request(own))
                == ["user-agent: me", "ACCEPT: text/plain", "X-Key: 1", "X-Key: 2", "Accept-Encoding: identity"]
        )
    }

    @Test(arguments: [
        "Accept-Encoding: gzip", "Range: bytes=0-1", "IF-RANGE: \"x\"", "If-Match: *", "Proxy-Authorization: Basic x",
        "Content-Length: 3", "Transfer-Encoding: chunked", "Connection: close", "TE: trailers", "Upgrade: h2c",
        "haul-request-target: /etc", "If-Unmodified-Since: x",
    ])
    func doesNotTakeAFieldOfItsOwnFromTheUser(_ field: String) throws {
        #expect(try request(fields(field)) == request(fields()))
    }

    @Test(
        arguments: [
            (0, nil, .ifRange("\"t\""), []), (5, nil, .none, ["Range: bytes=5-"]), (0, 10, .none, ["Range: bytes=0-9"]),
            (5, 10, .ifMatch("\"t\""), ["Range: bytes=5-9", "If-Match: \"t\""]),
            (5, nil, .ifRange("\"t\""), ["Range: bytes=5-", "If-Range: \"t\""]),
            (5, nil, .ifUnmodifiedSince("d"), ["Range: bytes=5-", "If-Unmodified-Since: d"]),
        ] as [(Int64, Int64?, RangeRequest.Condition, [String])]
    )
    func asksForARangeUnderACondition(
        _ first: Int64,
        _ end: Int64?,
        _ condition: RangeRequest.Condition,
        _ expected: [String]
    ) throws {
        let fields = RequestFields(userAgent: "Haul", from: first, to: end, condition: condition)
        #expect(try Array(text(request(fields)).dropFirst(3)) == expected)
    }

    @Test(arguments: [
        (["/b"], true), (["https://h:443/b"], true), (["https://h:8443/b"], false), (["https://o/b"], false),
        (["https://o/b", "https://h/a"], false),
    ])
    func sendsTheUsersFieldsAndCredentialsToTheFirstOriginOnly(_ locations: [String], _ isHome: Bool) throws {
        let redirects = locations.map { (status: 302, location: $0) }
        let own = try request(fields("X-Key: 1", "Authorization: Bearer x"), after: redirects)
        #expect(own.headers.contains(name: "X-Key") == isHome)
        #expect(own.headers.contains(name: "Authorization") == isHome)
        let source: CredentialSource? = isHome ? .header : nil
        #expect(own.credentials == source && own.key == nil)
        let login = RequestFields.Login(Credentials("u:p"), from: .url)
        let known = try request(fields(login: login), after: redirects)
        #expect((known.key != nil) == isHome)
    }

    @Test func prefersTheUsersAuthorizationToALogin() throws {
        let login = RequestFields.Login(Credentials("u:p"), from: .netrc)
        let request = try self.request(fields("authorization: Bearer x", login: login))
        #expect(request.key == nil && request.credentials == .header)
        #expect(request.headers["Authorization"] == ["Bearer x"])
    }

    @Test func saysWhereTheCredentialsCameFrom() throws {
        let login = RequestFields.Login(Credentials("u:p"), from: .netrc)
        var request = try self.request(fields(login: login))
        #expect(request.key == Authentications.Key(origin: Origin(home), credentials: Credentials("u:p")))
        #expect(request.credentials == nil && request.nonce == nil)
        request.authorize(with: .init(field: "Digest x", nonce: "n"))
        #expect(request.headers.lines.last == HeaderFields.Line("Authorization", "Digest x"))
        #expect(request.credentials == .netrc && request.nonce == "n")
    }

    @Test func givesTheUsersCookiesToTheJar() throws {
        let own = fields("Cookie: a=1", "cookie: b=2")
        let joined = try request(own) { ($0 + ["c=3"]).joined(separator: "; ") }
        #expect(joined.headers["Cookie"] == ["a=1; b=2; c=3"])
        #expect(try request(own).headers["Cookie"] == ["a=1", "b=2"])
        let elsewhere = try request(own, after: [(302, "https://o/")]) { $0.isEmpty ? "d=4" : nil }
        #expect(elsewhere.headers["Cookie"] == ["d=4"])
    }

    @Test(arguments: [(301, false), (302, false), (303, false), (307, true), (308, true)])
    func sendsTheBodyOfAPostAgainWhereTheStatusSaysSo(_ status: Int, _ isPost: Bool) throws {
        let body = Data("{}".utf8)
        let fields = RequestFields(
            user: [HeaderField("Content-Type: text/plain")].compactMap(\.self),
            userAgent: "Haul",
            method: .post(body: body, type: "application/json")
        )
        let first = try request(fields)
        #expect(first.body == body && first.method == "POST")
        #expect(first.headers["Content-Type"] == ["application/json"])
        let second = try request(fields, after: [(status, "/b")])
        let kept: Data? = isPost ? body : nil
        #expect(second.body == kept && second.method == (isPost ? "POST" : "GET"))
        #expect(second.headers["Content-Type"] == [isPost ? "application/json" : "text/plain"])
        let third = try request(fields, after: [(status, "/b"), (307, "/c")])
        #expect(third.method == second.method)
    }
}
