import Foundation
import Testing

@testable import HaulCore

struct HTTPURLTests {
    /// The typed text, the target that is sent, and the resulting URL.
    @Test(arguments: [
        ("http://h/dir/caf%E9.zip", "/dir/caf%E9.zip", "http://h/dir/caf%E9.zip"),
        ("http://h/a%20b c.zip", "/a%20b%20c.zip", "http://h/a%20b%20c.zip"),
        ("http://h/ü%C3%BC%e9", "/%C3%BC%C3%BC%e9", "http://h/%C3%BC%C3%BC%e9"),
        ("http://h/q?x={1}|2&y=%20 z", "/q?x={1}|2&y=%20%20z", "http://h/q?x=%7B1%7D%7C2&y=%20%20z"),
        ("http://h/q?x=%7B1%7d", "/q?x=%7B1%7d", "http://h/q?x=%7B1%7d"),
        ("http://h/q?a[]=`^\\", "/q?a[]=`^\\", "http://h/q?a%5B%5D=%60%5E%5C"),
        ("http://h/q?\"<>'", "/q?%22%3C%3E%27", "http://h/q?%22%3C%3E%27"),
        ("http://h/it's?q='x'", "/it's?q=%27x%27", "http://h/it's?q=%27x%27"),
        ("http://h/it's?q=%27", "/it's?q=%27", "http://h/it's?q=%27"),
        ("http://h/{a}|b[1]^`", "/%7Ba%7D|b[1]%5E%60", "http://h/%7Ba%7D%7Cb%5B1%5D%5E%60"),
        ("http://h/100%", "/100%", "http://h/100%25"), ("http://h/%zz%2", "/%zz%2", "http://h/%25zz%252"),
        ("http://h/a;b=c;d", "/a;b=c;d", "http://h/a;b=c;d"), ("http://h", "/", "http://h"),
        ("http://h?", "/?", "http://h?"), ("http://h/?", "/?", "http://h/?"),
        ("http://h?x=1?y", "/?x=1?y", "http://h?x=1?y"),
        ("http://h//a//b", "//a//b", "http://h//a//b"), ("http://h/%00%2F%5c", "/%00%2F%5c", "http://h/%00%2F%5c"),
        ("http://h/a/./b/../c", "/a/c", "http://h/a/./b/../c"),
        ("http://h/a/%2E%2e/b/.", "/b/", "http://h/a/%2E%2e/b/."),
        ("http://h/../../x", "/x", "http://h/../../x"), ("http://h/a/..", "/", "http://h/a/.."),
        ("http://h/.../..a", "/.../..a", "http://h/.../..a"), ("http://h/a\\b", "/a/b", "http://h/a/b"),
        ("http:\\\\h\\a", "/a", "http://h/a"), ("http://h/a\tb\r\nc", "/abc", "http://h/abc"),
        (" \u{1}http://h/a \n", "/a", "http://h/a"), ("http://h/a#b%20 c#d", "/a", "http://h/a#b%20%20c%23d"),
        ("http://u:p@h/a", "/a", "http://u:p@h/a"), ("http://u:p@ss/w@h/a", "/w@h/a", "http://u:p@ss/w@h/a"),
        ("http://u:p@ss w@h/a", "/a", "http://u:p%40ss%20w@h/a"), ("http://[::1]:80/x", "/x", "http://[::1]:80/x"),
        ("http://bücher.example/a%20b", "/a%20b", "http://xn--bcher-kva.example/a%20b"),
        ("http://b%C3%BCcher.example/", "/", "http://xn--bcher-kva.example/"),
        ("HTTP://H:080/X", "/X", "HTTP://H:080/X"),
        ("http://h_x.:8080/x", "/x", "http://h_x.:8080/x"), ("http://h/\u{7F}\u{0}x", "/%7F%00x", "http://h/%7F%00x"),
    ])
    func escapesOnlyWhatNoURLCanHold(_ text: String, _ target: String, _ url: String) {
        let address = HTTPURL(text)
        #expect(address?.target == target)
        #expect(address?.url.absoluteString == url)
        // A `URL` from an application is requested unchanged.
        let again = address.flatMap { HTTPURL($0.url) }
        #expect(again?.url == address?.url)
        #expect(address.flatMap { HTTPURL($0.url, target: $0.spelling) } == address)
    }

    @Test(arguments: ["http://h/a", "http://h/a#b", "http://h/a#b#c", " http://h/a#b c ", "http://h/a #"])
    func namesAFileWithoutTheFragmentOfAText(_ text: String) throws {
        #expect(try SpelledURL(text).url.absoluteString == "http://h/a")
        #expect(try SpelledURL("http://h#?/a").url.absoluteString == "http://h")
    }

    @Test(arguments: [
        "", " ", "h", "/a", "//h/a", "http:", "http:/h/a", "http:h/a", "http://", "http:///a", "http://:80/",
        "ftp://h/a", "file:///a",
        "http://a b/", "http://a%20b/", "http://a%00b/", "http://a%0D%0AX:y/", "http://a%2Fb/", "http://a<b/",
        "http://h:x/",
        "http://h:0/", "http://h:65536/", "http://h:99999999999999999999/", "http://[h]/", "http://[::1/",
        "http://[::1]x/",
        "http://%FF/", "http://\u{AD}/", "http://u@/",
    ])
    func refusesWhatNobodyCanBeAsked(_ text: String) {
        #expect(HTTPURL(text) == nil)
    }

    @Test(arguments: [
        ("c%E9 d", "/a/c%E9%20d"), ("?x={1}", "/a/b?x={1}"), ("#f", "/a/b?q={}"), ("/c|d", "/c|d"),
        ("../../c", "/c"), (".", "/a/"), ("\\c", "/c"), ("//h2/d e", "/d%20e"), ("http:d", "/a/d"),
        ("https://h/#f", "/"),
    ])
    func resolvesReferences(_ reference: String, _ target: String) throws {
        let base = try #require(HTTPURL("http://h/a/b?q={}#x"))
        let found = HTTPURL(reference, relativeTo: base)
        #expect(found?.target == target)
        #expect(found?.url.fragment == nil)
    }

    @Test func namesTheServerInTheHostField() throws {
        for (text, field) in [
            ("http://h:80/", "h"), ("https://h:443/", "h"), ("http://h:443/", "h:443"), ("http://[::1]/", "[::1]"),
            ("http://[::1]:8080/", "[::1]:8080"), ("http://bücher.example/", "xn--bcher-kva.example"),
            ("http://[fe80::1%25eth0]:1/", "[fe80::1]:1"),
        ] {
            #expect(HTTPHost.field(try #require(HTTPURL(text)).url) == field, "\(text)")
        }
    }

    @Test func sendsTheBytesOfUserInfoWhateverTheyMean() throws {
        let url = try #require(HTTPURL("http://u%E9:p%40@h/")).url
        #expect(url.credentials == Array("u".utf8) + [0xE9] + Array(":p@".utf8))
    }

    @Test func neverSendsWhatWouldEndTheRequestLine() {
        let alphabet = [
            "http", "https", ":", "/", "//", "@", "h", "..", ".", "?", "#", "%", "%2e", "%00", "%0D%0A", "\\", " ",
            "\0", "\r\n",
            "é", "[", "]", "::1", "443", "{", "|", "\u{200B}",
        ]
        var read = 0
        for text in HostileStrings(of: alphabet, count: 6000, upTo: 9, seed: 8) {
            guard let address = HTTPURL("http://h/" + text) ?? HTTPURL("http://" + text) else { continue }
            read += 1
            #expect(address.target.hasPrefix("/"), "\(text)")
            #expect(address.target.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "\(text)")
            #expect(address.url.isAskable, "\(text)")
            #expect(HTTPHost.field(address.url).utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "\(text)")
        }
        #expect(read > 1000)
    }
}
