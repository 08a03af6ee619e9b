import Foundation
import Testing

@testable import HaulCore

struct IndexPageTests {
    private static let html = "text/html; charset=utf-8"

    private func page(
        _ text: String,
        _ url: String = "https://h/pub/",
        type: String? = html
    ) throws -> IndexPage {
        try IndexPage(Array(text.utf8), url: try #require(URL(string: url)), mediaType: type)
    }

    private func links(_ targets: [String]) -> String { targets.map { "<a href=\"\($0)\">x</a>\n" }.joined() }

    @Test func readsThePageOfNginx() throws {
        let text = """
            <html>\r
            <head><title>Index of /pub/</title></head>\r
            <body>\r
            <h1>Index of /pub/</h1><hr><pre><a href="../">../</a>\r
            <a href="a%20b/">a b/</a>                                 01-Jan-2026 10:00                   -\r
            <a href="%C3%A9.iso">\u{E9}.iso</a>                       01-Jan-2026 10:00            12345678\r
            </pre><hr></body>\r
            </html>\r
            """
        let page = try page(text)
        #expect(page.folders.map(\.name) == ["a b"] && page.files.map(\.name) == ["\u{E9}.iso"])
        #expect(page.folders.map(\.url.absoluteString) == ["https://h/pub/a%20b/"])
        #expect(page.files.map(\.url.absoluteString) == ["https://h/pub/%C3%A9.iso"])
        #expect(page.refused.isEmpty)
    }

    @Test func readsThePageOfApache() throws {
        let text = """
            <!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 3.2 Final//EN">
            <table><tr><th><img src="/icons/blank.gif" alt="[ICO]"></th><th><a href="?C=N;O=D">Name</a></th></tr>
            <tr><td><a href="/">Parent Directory</a></td></tr>
            <tr><td><a href="b&amp;c.iso">b&amp;c.iso</a></td></tr><tr><td><A HREF='d/'>d/</A></td></tr></table>
            """
        let page = try page(text)
        #expect(page.files.map(\.name) == ["b&c.iso"] && page.folders.map(\.name) == ["d"])
    }

    @Test func readsThePagesOfCaddyLighttpdAndPython() throws {
        let caddy =
            "<a href=\"..\">Up</a><a href=\"./a.iso\"><svg><use xlink:href=\"#file\"></use></svg></a><a href=./d/>d</a>"
        #expect(try page(caddy).files.map(\.name) == ["a.iso"] && page(caddy).folders.map(\.name) == ["d"])
        let lighttpd = "<tr class=\"d\"><td class=\"n\"><a href=\"../\">..</a>/</td></tr><a href=\"d/\">d</a>/"
        #expect(try page(lighttpd).folders.map(\.name) == ["d"])
        let python = "<li><a href=\"a%3Fb%23.txt\">a?b#.txt</a></li><li><a href=\"link@\">link@</a></li>"
        #expect(try page(python).files.map(\.name) == ["a?b#.txt", "link@"])
    }

    @Test func readsTheListOfNginx() throws {
        let text = """
            [{ "name":"d", "type":"directory", "mtime":"Wed, 01 Jan 2026 10:00:00 GMT" },
             { "name":"a b.iso", "type":"file", "mtime":"Wed, 01 Jan 2026 10:00:00 GMT", "size":12345678901 },
             { "name":"fifo", "type":"other" }, { "name":"../x", "type":"file" }, { "name":"..", "type":"directory" }]
            """
        for type in ["application/json", nil] {
            let page = try page(text, type: type)
            #expect(page.files.map(\.url.absoluteString) == ["https://h/pub/a%20b.iso"])
            #expect(page.files.map(\.size) == [12_345_678_901])
            #expect(page.folders.map(\.url.absoluteString) == ["https://h/pub/d/"])
            #expect(page.refused.map(\.name) == ["../x", ".."])
        }
    }

    @Test(arguments: [
        "[", "{}", "[1]", "[{\"name\":1,\"type\":\"file\"}]", "[{\"name\":\"a\",\"type\":\"file\",\"size\":-1}]",
    ])
    func refusesAListThatIsNotAsDocumented(_ text: String) {
        let error = #expect(throws: DownloadError.self) { try page(text, type: "application/json") }
        #expect(error?.code == .invalidSet)
    }

    @Test(arguments: [
        "", "#x", "?C=N", "a?x=1", "..", "../", "../a", "../../pub/../x", "/", "/a", "/pub", "/pub/", ".", "./",
        "/public/a",
        "//other/pub/a", "https://other/pub/a", "http://h/pub/a", "https://h:8443/pub/a", "https://u:p@h/pub/a",
        "//u@h/pub/a", "ftp://h/pub/a", "javascript:alert(1)", "mailto:a@b", "data:,x", "file:///pub/a", "\\\\other\\a",
        "..\\x", "a\\b", "%2e%2e/a", ".%2E/a", "/%70ub/../a", "a/../../x", "index.html#top",
        "https://h.other/pub/a", "https://h@other/pub/a",
    ])
    func passesOverLinksThatLeadElsewhere(_ target: String) throws {
        let page = try page(links([target, "good"]), "https://h/pub/index.html")
        #expect(page.files.map(\.name) == ["good"] && page.folders.isEmpty && page.refused.isEmpty)
    }

    @Test(arguments: [
        "a%2Fb", "..%2F..%2Fetc", "a%5Cb", "a%00b", "a%0Ab", "%FF", "a//b", "a\u{7}", "a&#10;b", "%7F", "a%1Bb/c",
    ])
    func refusesNamesThatNoFileCanHave(_ target: String) throws {
        let page = try page(links([target, "good"]))
        #expect(page.files.map(\.name) == ["good"] && page.folders.isEmpty)
        #expect(page.refused.count == 1)
    }

    @Test func refusesNamesThatAreNotUTF8() throws {
        let bytes =
            Array("<a href=\"a".utf8) + [0xFF] + Array("\"></a><a href=\"/x".utf8) + [0xFF] + Array("\"></a>".utf8)
        let url = try #require(URL(string: "https://h/pub/"))
        let page = try IndexPage(bytes, url: url, mediaType: Self.html)
        #expect(page.files.isEmpty && page.refused.map(\.name) == ["a\\xff"])
    }

    @Test(arguments: [
        ("a", "a", "https://h/pub/a"), ("./a", "a", "https://h/pub/a"), ("/pub/a", "a", "https://h/pub/a"),
        ("https://h/pub/a", "a", "https://h/pub/a"), ("HTTPS://H:443/pub/a", "a", "https://h/pub/a"),
        ("//h/pub/a", "a", "https://h/pub/a"), ("a#x", "a", "https://h/pub/a"), ("b/a", "b/a", "https://h/pub/b/a"),
        ("b/../a", "a", "https://h/pub/a"), (" a ", "a", "https://h/pub/a"), ("/%70ub/a", "a", "https://h/%70ub/a"),
        ("a b", "a b", "https://h/pub/a%20b"), ("\u{E9}", "\u{E9}", "https://h/pub/%C3%A9"),
        ("%252e%252e", "%2e%2e", "https://h/pub/%252e%252e"), ("a&#x26;b", "a&b", "https://h/pub/a&b"),
        ("a&amp;amp;b", "a&amp;b", "https://h/pub/a&amp;b"), ("a&copy;b", "a&copy;b", "https://h/pub/a&copy;b"),
        ("a+b", "a+b", "https://h/pub/a+b"), ("..a", "..a", "https://h/pub/..a"),
    ])
    func followsLinksBelowTheFolder(_ target: String, _ path: String, _ url: String) throws {
        let page = try page(links([target, target]))
        #expect(page.files.map(\.path) == [path] && page.refused.isEmpty)
        #expect(page.files.map(\.name) == [String(path.split(separator: "/").last ?? "")])
        #expect(page.files.map(\.url.absoluteString) == [url])
    }

    @Test func keepsTheUserOfThePage() throws {
        #expect(try page(links(["a"]), "https://u:p@h/pub/").files.map(\.url.absoluteString) == ["https://u:p@h/pub/a"])
    }

    @Test(arguments: [
        "<!-- <a href=\"x\"> --><a href=\"a\">", "<script>\"<a href='x'>\"</script><a href=a>",
        "<STYLE><a href=x></style ><a href=a>", "<title><a href=x></title><a href=a>", "<a name=x><a href=a>",
        "<a href=a href=x>", "<a title='>' href=a>", "<a\nhref\t=\r\n'a'>", "<a/href=a>", "< a href=x><a href=a>",
        "</a href=x><a href=a>", "<!doctype x><?x?><a href=a>", "<abbr href=x><link href=x><a href=a>", "<a =x href=a>",
        "<script></scripty><a href=x></script><a href=a>", "<a href=a", "<a href=\"a",
        "<base target=x><a href=a>", "<base href><base href=''><a href=a>",
    ])
    func readsHTML(_ text: String) throws {
        #expect(try page(text).files.map(\.name) == ["a"])
    }

    @Test func goesByTheBaseWithinTheFolder() throws {
        let page = try page(
            "<base href=\"/pub/d/\"><base href=\"/x/\"><a href=\"a\"><a href=\"../b\"><a href=\"../../c\">"
        )
        #expect(page.files.map(\.path) == ["d/a", "b"])
    }

    @Test(arguments: ["/", "/x/", "..", "https://other/pub/", "//other/", "http://h/pub/", "ftp://h/"])
    func refusesABaseOutsideTheFolder(_ base: String) {
        let error = #expect(throws: DownloadError.self) { try page("<a href=\"a\"><base href=\"\(base)\">") }
        #expect(error?.code == .invalidSet)
    }

    @Test(arguments: ["text/plain", "application/octet-stream", "image/png"])
    func refusesWhatIsNoPage(_ type: String) {
        let error = #expect(throws: DownloadError.self) { try page(links(["a"]), type: type) }
        #expect(error?.code == .invalidSet)
    }

    @Test func keepsItsLimits() throws {
        #expect(HTMLLinks(Array(links(["a", "b"]).utf8), limit: 2)?.targets.count == 2)
        #expect(HTMLLinks(Array(links(["a", "b", "c"]).utf8), limit: 2) == nil)
        let long = String(repeating: "a", count: 8192)
        #expect(try page(links([long, long + "a"])).files.count == 1)
        let url = try #require(URL(string: "https://h/pub/"))
        #expect(throws: DownloadError.self) {
            try IndexPage(Array(repeating: 0x20, count: IndexPage.maximumBytes + 1), url: url, mediaType: nil)
        }
    }

    /// A reader that searches the rest of the page at each mark takes quadratic time and does not end here.
    @Test(arguments: ["<", "<!--", "<a href=\"", "<a href='&", "<script><", "<a href=a ", "&", "<a ="])
    func readsAPageOfOneRepeatedMark(_ mark: String) throws {
        _ = try page(String(repeating: mark, count: (1 << 20) / mark.utf8.count))
    }

    @Test func keepsItsPromisesForAnyPage() throws {
        let alphabet = [
            "<a href=\"", "<a href='", "<a href=", "<base href=\"", "\"", "'", ">", " ", "..", "/", ".", "%2e", "%2F",
            "%5c",
            "\\", "a", "b", "pub", "h", "https:", "//", "?", "#", "@", ":", "&amp;", "&#x2f;", "&", "<!--", "-->",
            "<script>",
            "</script>", "\n", "\u{E9}", "%", "%00",
        ]
        for text in HostileStrings(of: alphabet, count: 8000, upTo: 14, seed: 77) {
            guard let page = try? page(text, "https://h/pub/x") else { continue }
            for link in page.files + page.folders {
                let url = link.url.absoluteString
                #expect(url.hasPrefix("https://h/") && HTTPURL(url)?.url == link.url, "\(text.debugDescription)")
                let target = HTTPURL(url)?.target ?? ""
                #expect(
                    target.removingPercentEncoding?.hasPrefix("/pub/" + link.path) == true,
                    "\(text.debugDescription)"
                )
                let parts = link.path.split(separator: "/", omittingEmptySubsequences: false)
                #expect(
                    !parts.contains("") && !parts.contains("..") && !parts.contains("."),
                    "\(text.debugDescription)"
                )
            }
        }
    }
}
