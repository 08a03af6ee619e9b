import Foundation
import Testing

@testable import HaulCore

struct CookieTests {
    private let now = Date(timeIntervalSince1970: 1_800_000_000)

    private func cookie(_ field: String, from text: String = "https://h.example/a/b") -> Cookie? {
        Cookie(field, from: link(text), now: now)
    }

    /// Returns the field sent to `target` after `start` has set `fields`.
    private func sent(_ fields: [String], from start: String, to target: String, own: [String] = []) -> String? {
        var cookies = Cookies()
        for cookie in fields.compactMap({ Cookie($0, from: link(start), now: now) }) { cookies.put(cookie, now: now) }
        return cookies.field(for: link(target), own: own, now: now)
    }

    @Test(arguments: [
        ("a=b", "a=b"), (" a = b ", "a=b"), ("a=", "a="), ("a=b=c; x", "a=b=c"), ("a=\"b c\"", "a=\"b c\""),
        ("a=b;", "a=b"), ("a=b; Secure; HttpOnly; SameSite=None; Priority=High", "a=b"),
    ])
    func readsAField(_ field: String, _ pair: String) {
        #expect(sent([field], from: "https://h/a", to: "https://h/a") == pair)
    }

    @Test(arguments: ["", ";", "=b", "a", "a; b=c", " =b", "a=b\u{1}", "a=\u{FFFD}"])
    func passesOverWhatIsNoCookie(_ field: String) { #expect(cookie(field) == nil) }

    @Test func passesOverOneThatIsTooLong() {
        #expect(cookie("a=" + String(repeating: "x", count: 4095)) != nil)
        #expect(cookie("a=" + String(repeating: "x", count: 4096)) == nil)
    }

    @Test(arguments: [
        ("https://h:8443/", false), ("http://h/", false), ("https://sub.h/", false), ("https://h.evil/", false),
        ("https://H/", true), ("https://h:443/x?y", true), ("https://evil/", false),
    ])
    func goesToItsOriginOnly(_ target: String, _ isSent: Bool) {
        for field in ["a=b", "a=b; Domain=h", "a=b; Domain=.H"] {
            #expect((sent([field + "; Path=/"], from: "https://h/", to: target) != nil) == isSent, "\(field)")
        }
    }

    @Test func goesToNoSiblingWhateverDomainIsNamed() {
        for domain in ["share.example", ".example", "co.uk", "a.share.example"] {
            let field = "a=b; Path=/; Domain=\(domain)"
            #expect(sent([field], from: "https://a.share.example/", to: "https://b.share.example/") == nil)
        }
        #expect(sent(["a=b; Domain=other.example"], from: "https://h.example/", to: "https://h.example/") == nil)
        #expect(sent(["a=b; Domain=0.0.1"], from: "https://127.0.0.1/", to: "https://127.0.0.1/") == nil)
    }

    @Test(arguments: [
        ("/a/b", nil, "/a", true), ("/a/b", nil, "/a/c", true), ("/a/b", nil, "/ab", false), ("/a/b", nil, "/", false),
        ("/a", nil, "/", true), ("/a/b", "/", "/x", true), ("/", "/x", "/x/y", true), ("/", "/x/", "/x/y", true),
        ("/", "/x", "/xy", false), ("/", "/x/", "/x", false), ("/a/b", "odd", "/a/c", true),
    ])
    func goesToItsPath(_ from: String, _ path: String?, _ to: String, _ isSent: Bool) {
        let field = "a=b" + (path.map { "; Path=\($0)" } ?? "")
        #expect((sent([field], from: "https://h" + from, to: "https://h" + to) != nil) == isSent)
    }

    @Test(arguments: [
        ("Secure", "http://h/", false), ("Secure", "https://h/", true),
    ])
    func takesASecureOneOverTLSOnly(_ attribute: String, _ from: String, _ isTaken: Bool) {
        #expect((cookie("a=b; \(attribute)", from: from) != nil) == isTaken)
    }

    @Test(arguments: [
        ("__Secure-a=b", false), ("__Secure-a=b; Secure", true), ("__Host-a=b; Secure", false),
        ("__Host-a=b; Secure; Path=/", true), ("__Host-a=b; Secure; Path=/; Domain=h.example", false),
        ("__host-a=b; Path=/", false),
    ])
    func holdsWhatANamesPrefixPromises(_ field: String, _ isTaken: Bool) {
        #expect((cookie(field) != nil) == isTaken)
    }

    @Test(arguments: [
        ("Max-Age=0", false), ("Max-Age=-1", false), ("Max-Age=60", true), ("Max-Age=odd", true),
        ("Expires=Thu, 01 Jan 1970 00:00:00 GMT", false), ("Expires=Thu, 01 Jan 2099 00:00:00 GMT", true),
        ("Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=60", true), ("Max-Age=99999999999999999999999", true),
        ("Expires=never", true),
    ])
    func endsWhenItSays(_ attribute: String, _ isSent: Bool) {
        #expect((sent(["a=b; \(attribute)"], from: "https://h/", to: "https://h/") != nil) == isSent)
    }

    @Test func takesOneAwayThatIsSetAnewWithAPastDate() {
        #expect(sent(["a=b", "c=d", "a=x; Max-Age=0"], from: "https://h/", to: "https://h/") == "c=d")
        #expect(sent(["a=b", "c=d", "a=x"], from: "https://h/", to: "https://h/") == "a=x; c=d")
    }

    @Test func sendsLongerPathsFirst() {
        let fields = ["a=1; Path=/", "b=2; Path=/x/y", "c=3; Path=/x", "a=4; Path=/x"]
        #expect(sent(fields, from: "https://h/", to: "https://h/x/y") == "b=2; c=3; a=4; a=1")
    }

    @Test func leavesTheUsersOwnAsTheyAre() {
        let own = ["a=mine; x=y", "z=1"]
        #expect(sent(["a=theirs", "b=2"], from: "https://h/", to: "https://h/", own: own) == "a=mine; x=y; z=1; b=2")
        #expect(sent([], from: "https://h/", to: "https://h/", own: ["a=b"]) == "a=b")
    }

    @Test func isBounded() throws {
        var cookies = Cookies()
        for number in 0..<5000 {
            let url = link("https://h\(number / 400)/")
            cookies.put(try #require(Cookie("n\(number)=x", from: url, now: now)), now: now)
        }
        #expect(cookies.count <= 3000)
        #expect(cookies.field(for: link("https://h1/"), now: now)?.contains("n799=x") == true)
        #expect(cookies.field(for: link("https://h1/"), now: now)?.contains("n400=x") == false)
        let large = "a=" + String(repeating: "x", count: 4000)
        #expect((sent((0..<9).map { "n\($0)" + large }, from: "https://h/", to: "https://h/")?.utf8.count ?? 0) <= 8192)
    }

    @Test(arguments: [
        ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
        ("Sun Nov  6 08:49:37 1994", 784_111_777), ("06-Nov-1994 8:49:37", 784_111_777),
        ("Thu, 29 Feb 2024 00:00:00 GMT", 1_709_164_800), ("1 jan 70 0:0:0", 0), ("1 Jan 69 00:00:00", 3_124_224_000),
    ])
    func readsDatesOfEveryForm(_ text: String, _ seconds: Int) {
        #expect(CookieDate.read(text)?.timeIntervalSince1970 == Double(seconds))
    }

    @Test(arguments: [
        "", "never", "32 Jan 2020 00:00:00", "1 Jan 2020 24:00:00", "1 Jan 2020", "1 Jan 1600 00:00:00",
        "29 Feb 2023 00:00:00", "31 Apr 2020 00:00:00",
    ])
    func readsNoDateWhereThereIsNone(_ text: String) { #expect(CookieDate.read(text) == nil) }

    @Test func neverTrapsOnHostileFields() {
        let alphabet = ["a", "=", ";", " ", "Path", "/", "Domain", "Max-Age", "-", "9", "Expires", ":", "é", "\t", "."]
        var read = 0
        for text in HostileStrings(of: alphabet, count: 4000, upTo: 12, seed: 3) {
            guard let cookie = cookie(text) else { continue }
            read += 1
            #expect(!cookie.name.isEmpty && cookie.path.hasPrefix("/"), "\(text)")
            #expect((cookie.name + cookie.value).utf8.allSatisfy { $0 >= 0x20 && $0 != UInt8(ascii: ";") }, "\(text)")
        }
        #expect(read > 100)
    }
}
