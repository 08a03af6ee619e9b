import Testing

@testable import HaulCore
@testable import HaulKit

/// The addresses of a name that are used, and for how long.
struct NameCacheTests {
    private let one = ResolvedAddress("192.0.2.1")
    private let two = ResolvedAddress("2001:db8::2")
    private let three = ResolvedAddress("192.0.2.3")
    private func after(_ seconds: Int) -> Instant { Instant.start + .seconds(seconds) }

    @Test func isStaleAfterAMinuteAndOfNoUseAfterFive() {
        var cache = NameCache()
        cache.store([one], of: "a", at: .start)
        #expect(cache.entry("a", at: after(59))?.isStale == false)
        #expect(cache.entry("a", at: after(60))?.isStale == true)
        #expect(cache.entry("a", at: after(300)) == nil)
        #expect(cache.entry("b", at: .start) == nil)
    }

    @Test func keepsToTheAddressThatServes() {
        var cache = NameCache()
        cache.store([one, two], of: "a", at: .start)
        cache.prove(two, of: "a")
        #expect(cache.entry("a", at: .start)?.entry.addresses == [two, one])
        // DNS servers return the addresses in another order each time.
        cache.store([three, one, two], of: "a", at: after(60))
        #expect(cache.entry("a", at: after(60))?.entry.addresses == [two, three, one])
        #expect(cache.entry("a", at: after(60))?.entry.isProven == true)
        cache.store([three, one], of: "a", at: after(120))
        #expect(cache.entry("a", at: after(120))?.entry.addresses == [three, one])
        #expect(cache.entry("a", at: after(120))?.entry.isProven == false)
    }

    @Test func forgetsWhatDoesNotServe() {
        var cache = NameCache()
        cache.store([one], of: "a", at: .start)
        cache.prove(three, of: "a")
        #expect(cache.entry("a", at: .start)?.entry.isProven == false)
        cache.forget("a")
        #expect(cache.entry("a", at: .start) == nil)
    }

    @Test func remembersNoMoreThanItMay() {
        var cache = NameCache()
        for number in 0...NameCache.mostEntries {
            cache.store([one], of: "\(number)", at: after(number % 7 == 0 ? 1 : 2))
        }
        #expect(
            (0...NameCache.mostEntries).count { cache.entry("\($0)", at: after(3)) != nil } == NameCache.mostEntries
        )
    }

    @Test func triesFourAddressesOfEachVersion() {
        let many = (1...9).flatMap { [ResolvedAddress("2001:db8::\($0)"), ResolvedAddress("192.0.2.\($0)")] }
        let tried = ResolvedAddress.tried(many + many)
        #expect(tried == Array(many.prefix(8)))
        #expect(ResolvedAddress("fe80::1%eth0").hasZone && !ResolvedAddress("fe80::1%eth0").isVersion4)
    }
}
