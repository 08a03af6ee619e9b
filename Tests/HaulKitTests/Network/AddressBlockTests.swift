import Testing

@testable import HaulCore
@testable import HaulKit

struct AddressBlockTests {
    @Test(arguments: [
        ("10.0.0.0/8", "10.255.0.1"), ("10.0.0.0/8", "::ffff:10.1.2.3"), ("192.168.1.0/25", "192.168.1.127"),
        ("127.0.0.1", "127.0.0.1"), ("0.0.0.0/0", "8.8.8.8"), ("fe80::/10", "febf::1"), ("::1", "::1"),
        ("fc00::/7", "fdff::"),
        // The system connects to loopback if an address is unspecified.
        ("127.0.0.0/8", "0.0.0.0"), ("127.0.0.1", "::"), ("::1", "0.0.0.0"), ("127.0.0.0/8", "::ffff:0.0.0.0"),
        ("::ffff:10.0.0.0/104", "10.1.1.1"), ("::ffff:10.0.0.0/104", "::ffff:10.1.1.1"),
        // NAT64, 6to4 and IPv4-compatible addresses lead to the IPv4 address in them.
        ("10.0.0.0/8", "64:ff9b::a01:203"), ("10.0.0.0/8", "2002:a01:203::1"), ("127.0.0.0/8", "::127.0.0.1"),
    ])
    func hasAnAddress(_ block: String, _ address: String) throws {
        #expect(try #require(AddressBlock(block)).contains(try #require(IPAddress(address))))
    }

    @Test(arguments: [
        ("10.0.0.0/8", "11.0.0.1"), ("192.168.1.0/25", "192.168.1.128"), ("127.0.0.1", "127.0.0.2"),
        ("fe80::/10", "fec0::1"), ("::1", "::2"), ("0.0.0.0/8", "::1"), ("10.0.0.0/8", "a00::"),
        ("0.0.0.0/0", "2a00::1"),
        ("10.0.0.0/8", "64:ff9b::b01:203"),
    ])
    func doesNotHaveAnother(_ block: String, _ address: String) throws {
        #expect(!(try #require(AddressBlock(block)).contains(try #require(IPAddress(address)))))
    }

    @Test(arguments: [
        "", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/+8", "::1/129", "10.0.0.0/-1", "10.0.0.0/8/8", "host", "10/8",
    ])
    func isNotReadFrom(_ text: String) { #expect(AddressBlock(text) == nil) }

    @Test(arguments: [
        "127.0.0.1", "10.1.1.1", "172.31.0.1", "192.168.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1",
        "255.255.255.255", "::", "::1", "fe80::1", "fd00::1", "ff02::1", "::ffff:169.254.169.254",
        "64:ff9b::7f00:1",
        "2002:c0a8:1::",
    ])
    func isNotPublic(_ text: String) throws {
        let address = try #require(IPAddress(text))
        #expect(AddressBlock.nonPublic.contains { $0.contains(address) })
    }

    @Test(arguments: ["1.1.1.1", "172.32.0.1", "100.128.0.1", "193.0.0.1", "2606:4700::1111", "2a00:1450::1"])
    func isPublic(_ text: String) throws {
        let address = try #require(IPAddress(text))
        #expect(!AddressBlock.nonPublic.contains { $0.contains(address) })
    }

    @Test(arguments: [
        "127.1", "0x7f.1", "2130706433", "017700000001", "127.0.0.1.", "localhost", "a.LOCALHOST.", "::1", "0",
    ])
    func isSpelledInManyWaysForAProxy(_ host: String) {
        #expect(AddressBlock.nonPublic.denial(ofProxied: host)?.kind == .addressDenied)
        #expect([AddressBlock]().denial(ofProxied: host) == nil)
    }

    @Test(arguments: ["files.example", "1.1.1.1", "localhost.example", "0x1.example", "16843009"])
    func isNoneOfAHostForAProxy(_ host: String) {
        #expect(AddressBlock.nonPublic.denial(ofProxied: host) == nil)
    }

    @Test func leavesTheAddressesThatAreAllowed() throws {
        let denied = AddressBlock.nonPublic
        let mixed = ["10.0.0.1", "1.1.1.1", "::1"].map(ResolvedAddress.init)
        #expect(try denied.allowed(mixed).map(\.text) == ["1.1.1.1"])
        #expect(try denied.allowed([]).isEmpty)
        let error = #expect(throws: TransportError.self) {
            try denied.allowed(["fe80::1%eth0", "10.0.0.1"].map(ResolvedAddress.init))
        }
        #expect(error == TransportError(.addressDenied, "fe80::1 is in fe80::/10"))
    }
}
