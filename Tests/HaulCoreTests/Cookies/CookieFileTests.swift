import Foundation
import Testing

@testable import HaulCore

struct CookieFileTests {
    private let now = Date(timeIntervalSince1970: 1_800_000_000)

    private let text = """
        # Netscape HTTP Cookie File
        # https://curl.se/docs/http-cookies.html

        .share.example\tTRUE\t/\tTRUE\t1900000000\tsession\tone
        #HttpOnly_only.example\tFALSE\t/x\tFALSE\t0\tquiet\ttwo
        127.0.0.1\tFALSE\t/\tFALSE\t0\tempty\t
        old.example\tFALSE\t/\tFALSE\t1000\tgone\tx
        this is no line of it
        odd.example\tTRUE\tno path\tTRUE\t0\ta\tb
        """

    private func sent(to url: String) -> String? { Cookies(netscape: text).field(for: link(url), now: now) }

    @Test(arguments: [
        ("https://share.example/f", "session=one"), ("https://dl.share.example:8443/f", "session=one"),
        ("http://share.example/f", nil), ("https://notshare.example/f", nil), ("http://only.example/x/f", "quiet=two"),
        ("http://only.example/f", nil), ("http://sub.only.example/x", nil), ("http://127.0.0.1:8080/", "empty="),
        ("http://old.example/", nil), ("https://odd.example/", nil),
    ])
    func sendsWhatAFileSaysWhereItSays(_ url: String, _ pair: String?) {
        #expect(sent(to: url) == pair)
    }

    @Test func writesWhatItReads() {
        let cookies = Cookies(netscape: text)
        let written = cookies.netscape(now: now)
        #expect(written.hasPrefix("# Netscape HTTP Cookie File\n"))
        #expect(written.contains("#HttpOnly_only.example\tFALSE\t/x\tFALSE\t0\tquiet\ttwo\n"))
        #expect(written.contains(".share.example\tTRUE\t/\tTRUE\t1900000000\tsession\tone\n"))
        #expect(!written.contains("gone"))
        #expect(Cookies(netscape: written).netscape(now: now) == written)
    }

    @Test func writesWhatAServerSetForItsHostOnly() throws {
        var cookies = Cookies()
        let url = link("https://h.example:8443/a")
        let field = "a=b; Path=/; Secure; HttpOnly; Max-Age=60; Domain=h.example"
        cookies.put(try #require(Cookie(field, from: url, now: now)), now: now)
        #expect(cookies.netscape(now: now).hasSuffix("#HttpOnly_h.example\tFALSE\t/\tTRUE\t1800000060\ta\tb\n"))
    }

    @Test func renewsACookieOfTheFileInItsPlace() throws {
        var cookies = Cookies(netscape: text)
        let url = link("https://dl.share.example/f")
        let new = try #require(Cookie("session=new; Path=/; Secure; Domain=share.example", from: url, now: now))
        cookies.put(new, now: now)
        #expect(cookies.field(for: link("https://share.example/"), now: now) == "session=new")
        // Neither a host that does not name the domain nor a request without TLS replaces the cookie.
        cookies.put(try #require(Cookie("session=x; Path=/", from: url, now: now)), now: now)
        #expect(cookies.field(for: link("https://share.example/"), now: now) == "session=new")
        let plain = link("http://share.example/f")
        cookies.put(try #require(Cookie("session=y; Path=/", from: plain, now: now)), now: now)
        #expect(cookies.field(for: link("https://share.example/"), now: now) == "session=new")
    }

    @Test func readsAFileThatIsLarge() {
        let lines = (0..<20_000).map { "h\($0).example\tFALSE\t/\tFALSE\t0\tn\tv\n" }.joined()
        #expect(Cookies(netscape: lines).count == 3000)
    }

    /// A combining mark forms another character with the separator before it, but leaves the bytes of the separator
    /// unchanged.
    @Test func findsSeparatorsByTheirBytes() throws {
        let cookie = try #require(Cookie("a=b;\u{301}x=y; Path=/", from: link("http://h.example/"), now: now))
        #expect((cookie.name, cookie.value) == ("a", "b"))
        #expect(Cookies(netscape: "h.example\tFALSE\t/\tFALSE\t0\ta\tb;\u{301}c=d\n").isEmpty)
    }

    @Test func writesALineSeparatorOfUnicodeSoThatItIsReadAgain() throws {
        var cookies = Cookies()
        cookies.put(try #require(Cookie("a=b\u{2028}c", from: link("http://h.example/"), now: now)), now: now)
        #expect(Cookies(netscape: cookies.netscape(now: now)).netscape(now: now) == cookies.netscape(now: now))
        #expect(Cookies(netscape: cookies.netscape(now: now)).count == 1)
    }

    @Test(arguments: ["..h.example", ".\u{E0041}#h", "a b", ""]) func readsNoHostThatCannotBe(_ host: String) {
        let cookies = Cookies(netscape: "\(host)\tTRUE\t/\tFALSE\t0\ta\tb\n")
        #expect(cookies.count == (host == "..h.example" ? 1 : 0))
        #expect(Cookies(netscape: cookies.netscape(now: now)) == cookies)
    }
}
