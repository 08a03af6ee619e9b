import Testing

@testable import HaulCore
@testable import HaulKit

struct NetworkBindingTests {
    private let present = [
        LocalAddress(interface: "eth0", address: nil),
        LocalAddress(interface: "eth0", address: IPAddress("fe80::1")),
        LocalAddress(interface: "eth0", address: IPAddress("2001:db8::1")),
        LocalAddress(interface: "eth0", address: IPAddress("192.0.2.1")),
        LocalAddress(interface: "eth0", address: IPAddress("192.0.2.2")),
        LocalAddress(interface: "tun0", address: nil),
    ]

    @Test func takesAnAddressForAnAddressAndAnythingElseForAName() {
        #expect(NetworkBinding("192.0.2.1") == .localAddress("192.0.2.1"))
        #expect(NetworkBinding("::1") == .localAddress("::1"))
        #expect(NetworkBinding("eth0") == .interface("eth0"))
        #expect(NetworkBinding("192.0.2.1\0x") == .interface("192.0.2.1\0x"))
        #expect(NetworkBinding("192.0.2.256") == .interface("192.0.2.256"))
    }

    @Test func anInterfaceGivesAnAddressOfEachVersion() throws {
        #expect(try NetworkBinding.interface("eth0").sources(among: present) == ["192.0.2.1", "2001:db8::1"])
    }

    @Test func anAddressGivesItselfInCanonicalNotation() throws {
        #expect(try NetworkBinding.localAddress("2001:DB8:0:0::1").sources(among: []) == ["2001:db8::1"])
    }

    @Test func saysWhatIsMissing() {
        func sentence(_ binding: NetworkBinding) -> String? {
            do throws(TransportError) {
                _ = try binding.sources(among: present)
                return nil
            } catch { return error.kind == .bindingFailed ? error.detail : nil }
        }
        #expect(sentence(.interface("eth1")) == "There is no network interface called eth1.")
        #expect(sentence(.interface("tun0")) == "The network interface tun0 has no address; it may be down.")
        #expect(sentence(.localAddress("nonsense")) == "nonsense is no IP address to connect from.")
    }

    @Test func checksWhatIsReallyThere() throws {
        try NetworkBinding.interface("lo").check()
        try NetworkBinding.localAddress("127.0.0.9").check()
        let missing = #expect(throws: DownloadError.self) { try NetworkBinding.interface("nosuch0").check() }
        #expect(missing?.message == "There is no network interface called nosuch0.")
        // TEST-NET-1, an address that no machine has.
        let foreign = #expect(throws: DownloadError.self) { try NetworkBinding.localAddress("192.0.2.77").check() }
        #expect(foreign?.message == "No network interface of this machine has the address 192.0.2.77.")
        #expect(foreign?.code == .connectionFailed)
    }

    @Test(arguments: [
        ("::ffff:1.2.3.4", "::ffff:1.2.3.4"), ("FE80:0:0:0:0:0:0:1", "fe80::1"), ("10.0.0.1", "10.0.0.1"),
    ])
    func writesAddressesCanonically(text: String, canonical: String) {
        #expect(IPAddress(text)?.description == canonical)
    }

    @Test(arguments: ["", "1.2.3", "1.2.3.4.5", "fe80::1%eth0", "[::1]", "host", "1.2.3.4\0", "01.2.3.4 "])
    func isNoAddress(text: String) {
        #expect(IPAddress(text) == nil)
    }
}
