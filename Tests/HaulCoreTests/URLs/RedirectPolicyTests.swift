import Foundation
import Testing

@testable import HaulCore

struct RedirectPolicyTests {
    private func following(_ start: String, _ locations: String..., allowsInsecure: Bool = false) throws
        -> RedirectPolicy
    {
        var policy = RedirectPolicy(link(start), allowsInsecure: allowsInsecure)
        for location in locations { try policy.follow(location: location) }
        return policy
    }

    @Test(arguments: [
        ("https://h/a/b?q=1", "c", "https://h/a/c"), ("https://h/a/b", "/c", "https://h/c"),
        ("https://h/a/b", "?x=1", "https://h/a/b?x=1"), ("https://h/a/b", "../c", "https://h/c"),
        ("https://h/a/b", "//other/c", "https://other/c"), ("https://h/a", "https://o:8443/b", "https://o:8443/b"),
    ])
    func resolvesLocations(_ start: String, _ location: String, _ target: String) throws {
        #expect(try following(start, location).url.absoluteString == target)
    }

    @Test(arguments: [
        "javascript:alert(1)", "file:///etc/passwd", "ftp://h/x", "data:,x", "https://", "https:///x", "mailto:a@b",
        "http:", "haul://h/x",
    ])
    func refusesWhatIsNoWebURL(_ location: String) {
        #expect(throws: TransportError(.badRedirect)) { try following("http://h/a", location) }
    }

    @Test(arguments: [
        ("https://h/a", "https://h/b", true), ("https://h/a", "https://h:443/b", true),
        ("http://h/a", "http://H:80/b", true), ("https://h/a", "https://h:8443/b", false),
        ("http://h/a", "https://h/b", false), ("https://h/a", "https://sub.h/b", false),
        ("https://h/a", "https://h.evil/b", false), ("https://h/a", "//evil/b", false),
        ("https://h/a", "https://h@evil/b", false), ("https://h/a", "https://h./b", false),
    ])
    func carriesTheUsersHeadersToTheSameOriginOnly(_ start: String, _ location: String, _ carries: Bool) throws {
        #expect(try following(start, location).carriesUserHeaders == carries)
    }

    @Test func neverTakesUpTheHeadersAgainOnTheWayBack() throws {
        let policy = try following("https://h/a", "https://other/b", "https://h/c")
        #expect(policy.url.host == "h" && !policy.carriesUserHeaders)
    }

    @Test func goesFromSecureToInsecureOnlyIfAllowed() throws {
        #expect(throws: TransportError(.insecureRedirect)) { try following("https://h/a", "http://h/b") }
        #expect(throws: TransportError(.insecureRedirect)) { try following("http://h/a", "https://h/b", "HTTP://h/c") }
        #expect(try following("https://h/a", "http://h/b", allowsInsecure: true).url.scheme == "http")
        #expect(try following("http://h/a", "https://h/b").url.scheme == "https")
    }

    @Test func visitsOneURLAFewTimesAndNoMore() throws {
        var policy = RedirectPolicy(link("https://h/a"), allowsInsecure: false)
        for _ in 1..<RedirectPolicy.mostVisits { try policy.follow(location: "/a") }
        #expect(throws: TransportError(.tooManyRedirects)) { try policy.follow(location: "https://h/a") }
        // A redirect to another URL is still followed.
        try policy.follow(location: "/b")
        #expect(policy.url.path() == "/b")
    }

    @Test func findsLoops() {
        var policy = RedirectPolicy(link("https://h/a"), allowsInsecure: false)
        #expect(throws: TransportError(.tooManyRedirects)) {
            for _ in 0..<RedirectPolicy.most {
                try policy.follow(location: "/b")
                try policy.follow(location: "/a")
            }
        }
    }

    @Test func followsTenAndNoMore() throws {
        var policy = RedirectPolicy(link("https://h/0"), allowsInsecure: false)
        for step in 1...RedirectPolicy.most { try policy.follow(location: "/\(step)") }
        #expect(throws: TransportError(.tooManyRedirects)) { try policy.follow(location: "/11") }
    }

    @Test func dropsUserInfoThatARedirectBrings() throws {
        let url = try following("https://h/a", "https://user:secret@h/b").url
        #expect(url.user == nil && url.password == nil && url.absoluteString == "https://h/b")
    }

    @Test func staysWhereItWasAfterAnError() {
        var policy = RedirectPolicy(link("https://h/a"), allowsInsecure: false)
        let before = policy
        for location in ["http://h/b", "file:///x"] {
            #expect(throws: TransportError.self) { try policy.follow(location: location) }
        }
        #expect(policy == before)
    }

    @Test(arguments: [301, 302, 303, 307, 308])
    func knowsTheRedirects(_ status: Int) { #expect(RedirectPolicy.isRedirect(status: status)) }

    @Test(arguments: [200, 206, 300, 304, 305, 306, 309, 399])
    func followsNoOtherStatus(_ status: Int) { #expect(!RedirectPolicy.isRedirect(status: status)) }

    @Test func neverTrapsOnHostileLocations() {
        let alphabet = [
            "http", "https", ":", "/", "//", "@", "h", "..", "?", "#", "%", "%2F", "\\", " ", "\0", "é", "[", "]",
            "::1", "443",
        ]
        var read = 0
        for location in HostileStrings(of: alphabet, count: 4000, upTo: 9, seed: 9) {
            var policy = RedirectPolicy(link("https://h/a"), allowsInsecure: false)
            guard (try? policy.follow(location: location)) != nil else { continue }
            read += 1
            #expect(policy.url.scheme?.lowercased() == "https", "\(location)")
            #expect(policy.url.user == nil && policy.url.password == nil, "\(location)")
            if policy.url.host?.lowercased() != "h" { #expect(!policy.carriesUserHeaders, "\(location)") }
        }
        #expect(read > 1000)
    }
}
