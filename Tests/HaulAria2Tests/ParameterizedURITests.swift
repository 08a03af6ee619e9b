import Testing

@testable import HaulAria2
@testable import HaulServer

@Suite struct ParameterizedURITests {
    @Test(arguments: [
        ("http://a/x", ["http://a/x"]), ("http://{a,b}/x", ["http://a/x", "http://b/x"]),
        ("http://a/[1-3]", ["http://a/1", "http://a/2", "http://a/3"]),
        ("http://a/[08-10].png", ["http://a/08.png", "http://a/09.png", "http://a/10.png"]),
        ("http://a/[1-9:4]", ["http://a/1", "http://a/5", "http://a/9"]),
        ("http://a/[A-C]", ["http://a/A", "http://a/B", "http://a/C"]),
        ("http://{a, b}/[1-2]", ["http://a/1", "http://a/2", "http://b/1", "http://b/2"]),
    ])
    func isWrittenOut(_ uri: String, _ expected: [String]) throws {
        #expect(try ParameterizedURI.expanded(uri) == expected)
    }

    @Test(arguments: [
        "http://{a,b/x", "http://{}/x", "http://a/[1-", "http://a/[]", "http://a/[1]", "http://a/[1-9:0]",
        "http://a/[a-Z]",
        "http://a/[1-99999999]", "http://a/[1-1000][1-1000]", "http://a/[1-99999999999999999999]", "http://a/[-5-5]",
    ])
    func isRefused(_ uri: String) { #expect(throws: Aria2Error.self) { try ParameterizedURI.expanded(uri) } }
}
