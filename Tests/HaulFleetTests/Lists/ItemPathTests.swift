import Testing

@testable import HaulFleet

@Suite struct ItemPathTests {
    @Test(arguments: [
        ("http://Host.Example/a/b.txt", "host.example/a/b.txt"),
        ("https://h:443/a", "h/a"), ("https://h:8443/a", "h_8443/a"), ("http://h", "h/index.html"),
        ("http://h/", "h/index.html"), ("http://h/d/", "h/d/index.html"), ("http://h//a///b", "h/a/b"),
        ("http://user:secret@h/a#b", "h/a"), ("http://h/%C3%BC.txt", "h/ü.txt"),
    ])
    func aPathFollowsItsURL(_ url: String, _ path: String) {
        #expect(ItemPath.from(url: url) == path)
    }

    @Test func differentQueriesAreDifferentPaths() {
        let urls = ["http://h/a.tar.gz?x=1", "http://h/a.tar.gz?x=2", "http://h/a.tar.gz", "http://h/a.tar.gz?"]
        let paths = urls.map { ItemPath.from(url: $0) }
        #expect(Set(paths).count == urls.count)
        #expect(paths.allSatisfy { $0.hasPrefix("h/a.tar") && $0.hasSuffix(".gz") })
    }

    @Test(arguments: [
        "http://h/../../etc/passwd", "http://h/%2e%2e/%2e%2e/x", "http://h/a%2f..%2f..%2fb", "http://../a",
        "http://%2e%2e/a",
        "http://h/..%5c..%5cx", "http://h/.ssh/authorized_keys", "http://h/%00", "http://h/~/a", "http://h/CON/nul.txt",
        "http://h/%ff%fe", "http://[::1]:80/a", "http://h/" + String(repeating: "x", count: 5000),
        "http://h/" + String(repeating: "d/", count: 3000) + "f", "http://h/.haul-fleet/x", "http://.haul-fleet/x",
        "http:///",
        "http://h/a?" + String(repeating: "y", count: 9000), "http://h/\u{202E}gpj.exe", "http://h/%0A",
    ])
    func noURLLeavesTheFolder(_ url: String) {
        let path = ItemPath.from(url: url)
        let segments = path.split(separator: "/", omittingEmptySubsequences: false)
        #expect(segments.count >= 2 && path.utf8.count <= 1300)
        for segment in segments {
            #expect(!segment.isEmpty && segment != "." && segment != ".." && segment.utf8.count <= 255)
            #expect(!segment.hasPrefix(".") && !segment.utf8.contains { $0 < 0x20 || $0 == UInt8(ascii: "\\") })
        }
    }

    @Test func namesThatAreCleanedStayApart() {
        let paths = ["http://h/a:b", "http://h/a_b", "http://h/a%3Fb", "http://h/a%2Fb", "http://h/b"].map {
            ItemPath.from(url: $0)
        }
        #expect(Set(paths).count == paths.count)
    }
}
