import Foundation
import Testing

@testable import HaulCore

/// What other servers learn of the page of a stream.
struct RefererPolicyTests {
    @Test(
        arguments: [
            ("https://site.example/watch?id=7#t", "https://cdn.example/1.ts", "https://site.example/"),
            ("http://site.example:8080/watch", "https://cdn.example/1.ts", "http://site.example:8080/"),
            (
                "https://ada:pw@site.example/watch?id=7#t", "https://site.example/1.ts",
                "https://site.example/watch?id=7"
            ),
            ("https://site.example/watch", "http://cdn.example/1.ts", nil),
            ("https://site.example/watch", "http://site.example/1.ts", nil),
            ("http://site.example", "http://cdn.example/1.ts", "http://site.example/"),
            ("secret", "https://cdn.example/1.ts", nil),
            ("file:///home/ada", "https://cdn.example/1.ts", nil),
        ] as [(String, String, String?)]
    )
    func tellsOtherOriginsTheOriginAlone(page: String, url: String, value: String?) throws {
        #expect(RefererPolicy.value(page, for: try #require(URL(string: url))) == value)
    }
}
