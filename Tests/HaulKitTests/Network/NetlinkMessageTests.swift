import Testing

@testable import HaulCore
@testable import HaulKit

struct NetlinkMessageTests {
    private func contents(_ bytes: [UInt8]) -> [NetlinkMessage.Content] { NetlinkMessage.parse(bytes).map(\.content) }

    @Test func readsLinks() {
        let up = NetlinkBytes.link(7, "eth0")
        let off = NetlinkBytes.link(7, "eth0", flags: 0)
        let dormant = NetlinkBytes.link(7, "wlan0", operational: 5)
        let tunnel = NetlinkBytes.link(7, "tun0", operational: 0)
        let loopback = NetlinkBytes.link(1, "lo", flags: 0x10009)
        #expect(
            contents(up + off + dormant + tunnel + loopback) == [
                .link(index: 7, name: "eth0", isUp: true, hasCarrier: true, isLoopback: false),
                .link(index: 7, name: "eth0", isUp: false, hasCarrier: false, isLoopback: false),
                .link(index: 7, name: "wlan0", isUp: true, hasCarrier: false, isLoopback: false),
                .link(index: 7, name: "tun0", isUp: true, hasCarrier: true, isLoopback: false),
                .link(index: 1, name: "lo", isUp: true, hasCarrier: true, isLoopback: true),
            ]
        )
    }

    @Test func aPortThatLeavesItsBridgeIsNotGone() {
        #expect(contents(NetlinkBytes.link(7, "eth0", isGone: true)) == [.linkGone(index: 7)])
        #expect(contents(NetlinkBytes.link(7, "eth0", family: 7, isGone: true)) == [.other])
    }

    @Test func readsAddresses() throws {
        let key = NetlinkMessage.AddressKey(
            index: 7,
            address: try #require(IPAddress("192.0.2.1")),
            prefixLength: 24
        )
        #expect(contents(NetlinkBytes.address(7, [192, 0, 2, 1])) == [.address(key, isUsable: true)])
        #expect(contents(NetlinkBytes.address(7, [192, 0, 2, 1], isGone: true)) == [.addressGone(key)])
        // The address is still checked for duplicates; or has failed that check.
        #expect(contents(NetlinkBytes.address(7, [192, 0, 2, 1], flags: 0x40)) == [.address(key, isUsable: false)])
        #expect(contents(NetlinkBytes.address(7, [192, 0, 2, 1], flags: 0x08)) == [.address(key, isUsable: false)])
        // An address of three bytes is of no IP version.
        #expect(contents(NetlinkBytes.address(7, [192, 0, 2])) == [.other])
    }

    @Test func ofALineWithTwoEndsTheOwnOneCounts() throws {
        let far = NetlinkBytes.attribute(1, [10, 0, 0, 2])
        let own = NetlinkBytes.attribute(2, [10, 0, 0, 1])
        let head: [UInt8] = [2, 32, 0, 0] + NetlinkBytes.bytes(Int32(7))
        for body in [far + own, own + far] {
            let key = NetlinkMessage.AddressKey(
                index: 7,
                address: try #require(IPAddress("10.0.0.1")),
                prefixLength: 32
            )
            #expect(contents(NetlinkBytes.message(20, head + body)) == [.address(key, isUsable: true)])
        }
    }

    @Test func onlyADefaultRouteThatLeadsSomewhereCounts() {
        #expect(contents(NetlinkBytes.route()) == [.defaultRoute(isUsable: true)])
        #expect(contents(NetlinkBytes.route(family: 10)) == [.defaultRoute(isUsable: true)])
        #expect(contents(NetlinkBytes.route(to: 24)) == [.other])
        #expect(contents(NetlinkBytes.route(family: 128)) == [.other])
        // Unreachable; without a carrier; removed.
        #expect(contents(NetlinkBytes.route(type: 7)) == [.defaultRoute(isUsable: false)])
        #expect(contents(NetlinkBytes.route(flags: 16)) == [.defaultRoute(isUsable: false)])
        #expect(contents(NetlinkBytes.route(isGone: true)) == [.defaultRoute(isUsable: false)])
    }

    @Test func readsRefusals() {
        #expect(contents(NetlinkBytes.error(13, sequence: 1)) == [.refused(13)])
        #expect(contents(NetlinkBytes.message(2, NetlinkBytes.bytes(Int32.min))) == [.refused(.max)])
        #expect(contents(NetlinkBytes.error(0, sequence: 1)) == [.other])
    }

    @Test func whatIsTooShortForItsLengthsIsNotReadBeyond() {
        // Lengths beyond the buffer, below the header's own size, or 0.
        for length: UInt32 in [0, 1, 15, 17, 1000, .max] {
            var bytes = NetlinkBytes.message(16, [])
            bytes.replaceSubrange(0..<4, with: NetlinkBytes.bytes(length))
            #expect(contents(bytes) == [])
        }
        for length: UInt16 in [0, 3, 5, 1000, .max] {
            let body = [UInt8](repeating: 0, count: 16) + NetlinkBytes.bytes(length) + NetlinkBytes.bytes(UInt16(3))
            #expect(contents(NetlinkBytes.message(16, body)).count == 1)
        }
    }

    @Test func cutAnywhereItGivesAPrefixOfWhatTheWholeGives() {
        let whole =
            NetlinkBytes.link(7, "eth0") + NetlinkBytes.address(7, [192, 0, 2, 1]) + NetlinkBytes.route()
            + NetlinkBytes.done(1)
        let all = contents(whole)
        #expect(all.count == 4)
        for count in 0...whole.count {
            let part = contents(Array(whole.prefix(count)))
            #expect(part == Array(all.prefix(part.count)))
        }
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func randomBytesAreSurvived(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let whole = NetlinkBytes.link(7, "eth0") + NetlinkBytes.address(7, [192, 0, 2, 1]) + NetlinkBytes.route()
        var table = LinkTable()
        _ = table.begin()
        for _ in 0..<500 {
            var bytes = whole
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: .min ... .max, using: &random)
            }
            _ = table.take(NetlinkMessage.parse(bytes.prefix(Int.random(in: 0...bytes.count, using: &random))))
        }
    }
}
