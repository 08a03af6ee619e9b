import Foundation
import Testing

@testable import HaulCore
@testable import HaulKit
@testable import HaulTesting

/// Tests what is remembered of the connections to a host, and the number that a later download there begins with.
struct KnownHostTests {
    private static let large: Int64 = 100_000_000
    private static let url = link("https://home.example/f")

    @Test(arguments: [(nil, 1), (2, 1), (4, 2), (8, 4), (16, 4), (1024, 4), (1, 1), (0, 1), (-5, 1)])
    func aLargeFileBeginsWithHalfOfWhatWasWorthItAndFourAtMost(worthwhile: Int?, start: Int) {
        let host = KnownHost(worthwhile: worthwhile)
        #expect(host.start(missing: Self.large, besides: 4) == (start, start))
        #expect(host.start(missing: 1_000_000, besides: 4) == (1, 1), "done before it matters")
    }

    @Test("a large file alone begins with all connections that were worthwhile, half of them at once")
    func alone() {
        for (worthwhile, start, atOnce) in [(1, 1, 1), (4, 4, 2), (8, 8, 4), (12, 12, 6), (16, 16, 8), (100, 16, 8)] {
            #expect(KnownHost(worthwhile: worthwhile).start(missing: Self.large, besides: 0) == (start, atOnce))
        }
    }

    /// Returns how many connections the transfer opens when the body of the first one begins.
    private func opened(
        _ host: KnownHost,
        ceiling: Int = 8,
        start: Int = 1,
        missing: Int64 = large,
        besides additional: Int? = nil,
        isHeldBack: Bool = false
    ) -> Int {
        var transfer = Transfer()
        var sources = SourceSelector(Self.url, mirrors: [])
        var terms = Transfer.Terms(resource: Resource(total: Self.large))
        terms.resource.validator.entityTag = EntityTag("\"a\"")
        terms.limits = .init(connections: ceiling, start: start)
        let persisted = PersistedRanges(written: Self.large - missing, synced: Self.large - missing)
        let first = (id: DownloadMachine.ConnectionID(number: transfer.issueID().number), lower: Self.large - missing)
        transfer.slots.replace([Origin(Self.url): 16], inUse: additional)
        transfer.isHeldBack = isHeldBack
        transfer.begin((first.id, first.lower, nil, 0), terms, persisted, sources, host: host, at: .start)
        _ = transfer.schedule(&sources, at: .start)
        return transfer.active.count
    }

    @Test func aTransferBeginsWithWhatIsKnown() {
        #expect(opened(KnownHost()) == 1)
        #expect(opened(KnownHost(worthwhile: 8)) == 4)
        #expect(opened(KnownHost(worthwhile: 8), missing: 3_000_000) == 1, "little is left of it")
        #expect(opened(KnownHost(limit: 2, worthwhile: 8)) == 2, "the host allows no more")
        #expect(opened(KnownHost(worthwhile: 8), ceiling: 3) == 3)
        #expect(opened(KnownHost(worthwhile: 8), start: 6) == 6, "named by the user")
    }

    @Test("half of what was worthwhile is opened at once, within all limits, and not under a speed limit")
    func opensHalfAtOnce() {
        let host = KnownHost(worthwhile: 16)
        #expect(opened(host, ceiling: 16, besides: 0) == 8)
        #expect(opened(host, ceiling: 16, besides: 3) == 4)
        #expect(opened(host, ceiling: 16, missing: 3_000_000, besides: 0) == 1)
        #expect(opened(host, ceiling: 16, besides: 0, isHeldBack: true) == 4)
        #expect(opened(KnownHost(limit: 2, worthwhile: 16), besides: 0) == 2)
        #expect(opened(host, ceiling: 1, besides: 0) == 1)
    }

    @Test func tellsOnceWhenMoreConnectionsWereClearlyWorthIt() {
        var simulation = LinkSimulation(LinkModel(each: 5e6), ConnectionController(ceiling: 8), length: 1e8, seed: 1)
        simulation.run(until: 60)
        #expect(simulation.controller.worthwhile == 8)
        var filled = LinkSimulation(LinkModel(total: 50e6), ConnectionController(ceiling: 8), length: 1e10, seed: 1)
        filled.run(until: 60)
        #expect(filled.controller.worthwhile <= 2, "one fills the link")
    }

    @Test func theStoreKeepsEachFactForItsTime() async throws {
        let folder = try TemporaryFolder()
        let store = try DownloadStore(folder: folder.path, name: "n", isExclusive: false, bootID: "b")
        let (home, other) = (Origin(Self.url), Origin(link("http://other.example:8080")))
        let date = Date(timeIntervalSince1970: 1_000_000)
        try await store.record(.limit, 3, of: home, at: date)
        try await store.record(.worthwhile, 4, of: home, at: date)
        try await store.record(.worthwhile, 8, of: home, at: date)
        try await store.record(.worthwhile, 16, of: other, at: date.addingTimeInterval(1800))
        try await store.record(.changeUnderOneName, 1, of: other, at: date.addingTimeInterval(-83_000))
        var changing = KnownHost(worthwhile: 16)
        changing.changesUnderOneName = true
        #expect(
            try await store.knownHosts(at: date.addingTimeInterval(3000)) == [
                home: KnownHost(limit: 3, worthwhile: 8), other: changing,
            ]
        )
        #expect(
            try await store.knownHosts(at: date.addingTimeInterval(4000)) == [
                home: KnownHost(limit: 3), other: KnownHost(worthwhile: 16),
            ]
        )
        #expect(try await store.knownHosts(at: date.addingTimeInterval(100_000)) == [:])
        await store.close()
    }

    @Test(arguments: HostFact.allCases) func aFactThatIsForgottenLeavesNothing(_ fact: HostFact) {
        var host = KnownHost()
        fact.set(3, of: &host)
        #expect(host != KnownHost())
        fact.forget(of: &host)
        #expect(host == KnownHost())
    }
}
