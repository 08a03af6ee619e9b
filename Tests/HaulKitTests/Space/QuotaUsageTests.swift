import Testing

@testable import HaulCore
@testable import HaulKit

struct QuotaUsageTests {
    @Test func followsWhatRunsAndWhatRests() {
        let (one, other) = (DownloadID(), DownloadID())
        var count = QuotaUsage()
        #expect(!count.isKnown)
        count.settle(1000, at: count.generation)
        count.set(one, 300, had: 0)
        count.set(other, 500, had: 400)
        #expect(count.used == 1400 && count.used(besides: one) == 1100)
        count.set(one, 350, had: 0)
        count.end(other, leaving: 0, had: 400)
        count.end(one, leaving: 350, had: 0)
        #expect(count.used == 950 && count.running.isEmpty)
        // A download that does not run changes the sum only by the bytes that it leaves.
        count.end(one, leaving: 350, had: 350)
        #expect(count.used == 950)
        count.end(one, leaving: 0, had: 350)
        #expect(count.used == 600)
    }

    @Test func takesNoSumFromBeforeAChange() {
        var count = QuotaUsage()
        let generation = count.generation
        count.set(DownloadID(), 300, had: 0)
        count.settle(1000, at: generation)
        #expect(!count.isKnown)
        count.set(DownloadID(), .max, had: 0)
        count.settle(.max, at: count.generation)
        #expect(count.used == .max)
    }

    /// Compares random histories with a sum over all downloads.
    @Test(arguments: UInt64(0)..<40)
    func agreesWithTheSum(_ seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let ids = (0..<8).map { _ in DownloadID() }
        var (backingOff, running): ([DownloadID: Int64], [DownloadID: Int64]) = ([:], [:])
        var count = QuotaUsage()
        count.settle(0, at: count.generation)
        for _ in 0..<300 {
            guard let id = ids.randomElement(using: &random) else { return }
            let bytes = Int64.random(in: 0..<1000, using: &random)
            if Bool.random(using: &random) {
                count.set(id, bytes, had: backingOff[id] ?? 0)
                backingOff[id] = nil
                running[id] = bytes
            } else {
                count.end(id, leaving: bytes, had: backingOff[id] ?? 0)
                running[id] = nil
                backingOff[id] = bytes
            }
            #expect(count.used == (Array(backingOff.values) + running.values).reduce(0, +), "seed \(seed)")
        }
    }
}
