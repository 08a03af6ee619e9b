import Foundation
import Testing

@testable import HaulCore

struct SetURLTests {
    @Test(
        arguments: [
            ("https://h/p/SHA256SUMS", "a.iso", "https://h/p/a.iso"), ("https://h/p/", "b/c d", "https://h/p/b/c%20d"),
            ("https://h/p/SUMS?token=1#x", "a", "https://h/p/a"), ("http://h:8080", "a", "http://h:8080/a"),
            ("https://u:p@h/p/s", "a", "https://u:p@h/p/a"), ("https://h/a%20b/s", "\u{E9}", "https://h/a%20b/%C3%A9"),
            ("https://h/p/s", "a?b#c%d", "https://h/p/a%3Fb%23c%25d"), ("https://h/p/s", "http://x", nil),
            ("https://h/p/s", "../a", nil), ("https://h/p/s", "/a", nil), ("https://h/p/s", "a/./b", nil),
            ("https://h/p/s", "%2e%2e/a", "https://h/p/%252e%252e/a"), ("https://h/p/s", "", nil),
            ("ftp://h/s", "a", nil),
            ("https://h/p/s", "a\\..\\b", "https://h/p/a%5C..%5Cb"), ("https://h/p/s", "a/", nil),
        ] as [(String, String, String?)]
    )
    func namesAFileBesideAList(_ page: String, _ name: String, _ expected: String?) throws {
        let page = try #require(URL(string: page))
        #expect((try? SetURL.file(name, besides: page).absoluteString) == expected)
    }
}
