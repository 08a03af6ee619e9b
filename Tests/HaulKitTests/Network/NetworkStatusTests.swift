import HaulKit
import HaulTesting
import Testing

struct NetworkStatusTests {
    private typealias Interface = NetworkStatus.Interface
    private let loopback = Interface(name: "lo", index: 1, isLoopback: true, addresses: ["127.0.0.1", "::1"])
    private let wire = Interface(name: "eth0", index: 2, addresses: ["192.0.2.2", "2001:db8::2", "fe80::2"])

    private func status(_ interfaces: Interface...) -> NetworkStatus { NetworkStatus(interfaces: interfaces) }

    private func changed(_ change: (inout Interface) -> Void) -> NetworkStatus {
        var wire = wire
        change(&wire)
        return status(loopback, wire)
    }

    @Test func oneReadyInterfaceIsOnline() {
        #expect(status(loopback, wire).isOnline())
        #expect(changed { $0.addresses = ["192.0.2.2"] }.isOnline())
        #expect(changed { $0.addresses = ["2001:db8::2"] }.isOnline())
        #expect(NetworkStatus.online.isOnline())
    }

    @Test func whatIsMissingMakesItOffline() {
        #expect(!status().isOnline())
        #expect(!status(loopback).isOnline())
        #expect(!changed { $0.isUp = false }.isOnline())
        #expect(!changed { $0.hasCarrier = false }.isOnline())
        #expect(!changed { $0.addresses = [] }.isOnline())
        // Every interface has such a link-local address.
        #expect(!changed { $0.addresses = ["fe80::2", "febf::1"] }.isOnline())
        #expect(!NetworkStatus.offline.isOnline())
    }

    @Test func theStatusOfAnApplicationHoldsDownloads() {
        var conditions = RunConditions(waitsForNetwork: true, allowsMetered: false, binding: nil)
        conditions.network = NetworkStatus(isOnline: false)
        #expect(conditions.reasons == [.offline])
        conditions.network = NetworkStatus(isOnline: true, isMetered: true)
        #expect(conditions.reasons == [.metered])
        conditions.network = NetworkStatus(isOnline: true)
        #expect(conditions.reasons.isEmpty)
    }

    @Test func whoCannotLookIsOnline() {
        #expect(NetworkStatus.unknown.isOnline())
        #expect(NetworkStatus.unknown.isOnline(via: .interface("tun0")))
        #expect(NetworkStatus.unknown.isOnline(via: .localAddress("192.0.2.2")))
    }

    @Test func aBindingAsksForItsInterfaceAlone() {
        let both = status(loopback, wire, Interface(name: "tun0", index: 3, hasCarrier: false, addresses: ["10.0.0.2"]))
        #expect(both.isOnline())
        #expect(both.isOnline(via: .interface("eth0")))
        #expect(!both.isOnline(via: .interface("tun0")))
        #expect(!both.isOnline(via: .interface("eth")))
        #expect(status(loopback).isOnline(via: .interface("lo")))
        #expect(!changed { $0.addresses = [] }.isOnline(via: .interface("eth0")))
    }

    @Test func aBindingAsksForItsAddressInWhateverNotation() {
        let status = status(loopback, wire)
        #expect(status.isOnline(via: .localAddress("192.0.2.2")))
        #expect(status.isOnline(via: .localAddress("2001:0DB8:0::0002")))
        #expect(!status.isOnline(via: .localAddress("192.0.2.20")))
        #expect(!status.isOnline(via: .localAddress("nonsense")))
        #expect(!changed { $0.hasCarrier = false }.isOnline(via: .localAddress("192.0.2.2")))
        // The loopback interface has all of 127.0.0.0/8, although it lists only one address.
        #expect(status.isOnline(via: .localAddress("127.0.0.9")))
        #expect(!changed { _ in }.isOnline(via: .localAddress("128.0.0.9")))
    }

    @Test(arguments: ["localhost", "LOCALHOST.", "a.localhost", "127.0.0.1", "127.9.9.9", "::1", "[::1]"])
    func thisMachineIsAlwaysWithinReach(host: String) {
        #expect(NetworkStatus.offline.isOnline(for: host))
    }

    @Test(arguments: [
        "example.com", "localhost.example.com", "notlocalhost", "128.0.0.1", "[::2]", "", "[", "127.0.0.1.example",
    ])
    func otherMachinesAreNot(host: String) {
        #expect(!NetworkStatus.offline.isOnline(for: host))
        #expect(NetworkStatus.online.isOnline(for: host))
    }
}
