import Testing

@testable import HaulCore
@testable import HaulKit

struct LinkTableTests {
    private let address: [UInt8] = [192, 0, 2, 1]

    /// Returns a table with `eth0`, one address and a default route.
    private func settled() throws -> LinkTable {
        var table = LinkTable()
        var request = table.begin()
        #expect(request.dump == .links)
        #expect(!table.isSettled)
        let first = NetlinkBytes.link(7, "eth0", sequence: request.sequence)
        request = try ask(&table, first + NetlinkBytes.done(request.sequence))
        #expect(request.dump == .addresses)
        let second = NetlinkBytes.address(7, address, sequence: request.sequence)
        #expect(table.take(NetlinkMessage.parse(second)) == nil)
        request = try ask(&table, NetlinkBytes.done(request.sequence))
        #expect(request.dump == .routes)
        try settleRoutes(&table, request, hasDefault: true)
        return table
    }

    /// Passes the bytes to the table and returns its next request.
    private func ask(_ table: inout LinkTable, _ bytes: [UInt8]) throws -> LinkTable.Request {
        let request = table.take(NetlinkMessage.parse(bytes))
        return try #require(request)
    }

    private func settleRoutes(_ table: inout LinkTable, _ request: LinkTable.Request?, hasDefault: Bool) throws {
        let request = try #require(request)
        #expect(request.dump == .routes)
        let routes = hasDefault ? NetlinkBytes.route(sequence: request.sequence) : []
        #expect(table.take(NetlinkMessage.parse(routes + NetlinkBytes.done(request.sequence))) == nil)
        #expect(table.isSettled)
    }

    @Test func settlesAfterADumpOfEach() throws {
        let table = try settled()
        #expect(
            table.status
                == NetworkStatus(
                    interfaces: [.init(name: "eth0", index: 7, addresses: ["192.0.2.1"])],
                    hasDefaultRoute: true
                )
        )
    }

    @Test func followsALinkThatGoesAndComes() throws {
        var table = try settled()
        let request = table.take(NetlinkMessage.parse(NetlinkBytes.link(7, "eth0", flags: 1, operational: 2)))
        // The kernel drops the routes of a link without a message, so the table requests them.
        #expect(!table.isSettled)
        try settleRoutes(&table, request, hasDefault: false)
        #expect(!table.status.isOnline())
        #expect(table.status.hasDefaultRoute == false)
        try settleRoutes(&table, table.take(NetlinkMessage.parse(NetlinkBytes.link(7, "eth0"))), hasDefault: true)
        #expect(table.status.isOnline())
        #expect(table.status.hasDefaultRoute == true)
    }

    @Test func followsAddressesAndRemovals() throws {
        var table = try settled()
        let gone = NetlinkBytes.address(7, address, isGone: true)
        try settleRoutes(&table, table.take(NetlinkMessage.parse(gone)), hasDefault: true)
        #expect(table.status.interfaces?.first?.addresses == [])
        let back = NetlinkBytes.address(7, address)
        try settleRoutes(&table, table.take(NetlinkMessage.parse(back)), hasDefault: true)
        let linkGone = NetlinkBytes.link(7, "eth0", isGone: true)
        try settleRoutes(&table, table.take(NetlinkMessage.parse(linkGone)), hasDefault: false)
        // The kernel uses the index again. The new link has nothing of the old one.
        try settleRoutes(&table, table.take(NetlinkMessage.parse(NetlinkBytes.link(7, "eth9"))), hasDefault: false)
        #expect(table.status.interfaces == [.init(name: "eth9", index: 7)])
    }

    @Test func whatChangesNothingAsksNothing() throws {
        var table = try settled()
        let same = NetlinkBytes.link(7, "eth0") + NetlinkBytes.address(7, address) + NetlinkBytes.route(to: 24)
        #expect(table.take(NetlinkMessage.parse(same)) == nil)
        #expect(table.isSettled)
    }

    @Test func lostNewsMakeItAskForEverythingAgain() throws {
        var table = try settled()
        let lost = table.lost()
        let first = try #require(lost)
        #expect(first.dump == .links)
        // Messages are lost again. The kernel allows one dump at a time, so the present dump is read to its end.
        #expect(table.lost() == nil)
        let second = try ask(&table, NetlinkBytes.done(first.sequence))
        #expect(second.dump == .links)
        let third = try ask(&table, NetlinkBytes.done(second.sequence))
        #expect(third.dump == .addresses)
        let fourth = table.take(NetlinkMessage.parse(NetlinkBytes.done(third.sequence)))
        try settleRoutes(&table, fourth, hasDefault: false)
        #expect(table.status.interfaces == [])
    }

    @Test func aDumpThatWasOvertakenIsDoneAgain() throws {
        var table = LinkTable()
        let first = table.begin()
        let again = table.take(NetlinkMessage.parse(NetlinkBytes.done(first.sequence, flags: 0x12)))
        #expect(again?.dump == .links)
    }

    @Test func aRefusalIsFinal() {
        var table = LinkTable()
        let first = table.begin()
        #expect(table.take(NetlinkMessage.parse(NetlinkBytes.error(1, sequence: first.sequence))) == nil)
        #expect(table.hasFailed)
        #expect(!table.isSettled)
    }

    @Test func givesUpWhenNoDumpEverEndsWell() {
        var table = LinkTable()
        var request: LinkTable.Request? = table.begin()
        var count = 0
        while let sequence = request?.sequence, count < 1000 {
            count += 1
            request = table.take(NetlinkMessage.parse(NetlinkBytes.done(sequence, flags: 0x10)))
        }
        #expect(table.hasFailed)
    }
}
