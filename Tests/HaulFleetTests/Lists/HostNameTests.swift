import Testing

@testable import HaulFleet

@Suite struct HostNameTests {
    @Test(arguments: [
        ("example.org", "example.org"), ("EXAMPLE.org:8080", "example.org:8080"), ("127.0.0.1:80", "127.0.0.1:80"),
        ("example.org:443", "example.org:443"), ("[::1]:8080", "[::1]:8080"),
        ("http://example.org:8080/a", "example.org:8080"),
        ("https://example.org:443/", "example.org"),
    ])
    func whatAPersonTypesIsAHost(_ typed: String, _ name: String) {
        #expect(HostName(typed: typed)?.text == name)
    }

    @Test(arguments: [
        "", "x/y", "a b", "user@x", "x:99999", "x:0", "x:", "127.0.0.1:abc", "*", "*.example.org", "x?y", "http:///",
    ])
    func whatNoURLCanHaveIsNone(_ typed: String) { #expect(HostName(typed: typed) == nil) }
}
