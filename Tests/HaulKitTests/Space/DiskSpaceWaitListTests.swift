import Testing

@testable import HaulCore
@testable import HaulKit

struct SpaceRuleTests {
    private let disk = VolumeSpace(free: 1000, total: 100_000, volume: 1)

    @Test(arguments: [
        (Int64(1000), Int64(0), SpaceRule.Decision.fits), (1001, 0, .isMissing), (5000, 4000, .fits),
        (5001, 4000, .isMissing),
        (100_000, 0, .isMissing), (100_001, 0, .never), (100_001, 100_000, .never), (.max, 0, .never), (0, 0, .fits),
        (500, 900, .fits),
    ])
    func comparesTheRestOfTheFileWithWhatIsFree(_ total: Int64, _ here: Int64, _ decision: SpaceRule.Decision) {
        #expect(SpaceRule(reserve: 0).decision(total: total, here: here, in: disk, isContended: false) == decision)
    }

    @Test func leavesTheReserveFree() {
        let rule = SpaceRule(reserve: 400)
        #expect(rule.decision(total: 600, here: 0, in: disk, isContended: false) == .fits)
        #expect(rule.decision(total: 601, here: 0, in: disk, isContended: false) == .isReserved)
        #expect(rule.decision(total: 1001, here: 0, in: disk, isContended: false) == .isMissing)
        #expect(rule.decision(total: 99_601, here: 0, in: disk, isContended: false) == .never)
        #expect(SpaceRule(reserve: .max).decision(total: nil, here: 0, in: disk, isContended: false) == .isReserved)
        #expect(SpaceRule(reserve: -5).reserve == 0)
    }

    @Test func letsAnUnknownLengthBeginWhereThereIsAnySpace() {
        let rule = SpaceRule(reserve: 999)
        #expect(rule.decision(total: nil, here: 0, in: disk, isContended: false) == .fits)
        #expect(rule.decision(total: nil, here: 0, in: disk, isContended: true) == .isMissing)
    }
}

struct DiskSpaceWaitListTests {
    private func waiter(
        _ position: Int64,
        needs needed: Int64?,
        priority: Int = 0,
        folder: String = "/a",
        for reason: HoldReason = .diskFull,
        since: Instant = .start
    ) -> DiskSpaceWaitList.Waiter {
        .init(
            id: DownloadID(),
            reason: reason,
            folder: folder,
            needed: needed,
            priority: priority,
            position: position,
            since: since
        )
    }

    private func watch(_ waiters: DiskSpaceWaitList.Waiter...) -> DiskSpaceWaitList {
        var watch = DiskSpaceWaitList()
        for waiter in waiters { watch.add(waiter) }
        return watch
    }

    private func supply(_ free: [String: Int64], reserve: Int64 = 0, quota: (Int64, Int64)? = nil)
        -> DiskSpaceWaitList.Supply
    {
        var disks: [String: VolumeSpace] = [:]
        for (folder, free) in free {
            disks[folder] = VolumeSpace(free: free, total: 100 << 20, volume: UInt64(folder.utf8.last ?? 0))
        }
        return .init(rule: SpaceRule(reserve: reserve), disks: disks, quota: quota)
    }

    @Test func noneResumesBeforeThereIsSpaceForIt() {
        let one = waiter(1, needs: 5000)
        var watch = watch(one)
        #expect(watch.ready(supply(["/a": 4999]), at: .start).isEmpty)
        #expect(watch.ready(supply(["/a": 5999], reserve: 1000), at: .start).isEmpty)
        #expect(watch.ready(supply(["/a": 6000], reserve: 1000), at: .start).map(\.id) == [one.id])
    }

    @Test func comeBackInTheOrderOfTheQueueAndOnlyAsManyAsFit() {
        let (late, early, urgent) = (
            waiter(9, needs: 1000), waiter(2, needs: 1000), waiter(50, needs: 1000, priority: 5)
        )
        var watch = watch(late, early, urgent)
        #expect(watch.ready(supply(["/a": 0]), at: .start).isEmpty)
        #expect(watch.ready(supply(["/a": 2500]), at: .start).map(\.id) == [urgent.id, early.id])
        watch.forget([urgent.id, early.id])
        #expect(watch.ready(supply(["/a": 3000]), at: .start).map(\.id) == [late.id])
        watch.forget(late.id)
        #expect(watch.isEmpty && watch.folders.isEmpty)
    }

    @Test func aLargeOneDoesNotKeepSmallOnesFromWhatIsTooLittleForIt() {
        let (large, small) = (waiter(1, needs: 1 << 20), waiter(2, needs: 10))
        var watch = watch(large, small)
        #expect(watch.ready(supply(["/a": 1000]), at: .start).map(\.id) == [small.id])
    }

    @Test func eachVolumeHasItsOwnSpace() {
        let (here, there, alsoHere) = (
            waiter(1, needs: 1000), waiter(2, needs: 1000, folder: "/b"), waiter(3, needs: 1000, folder: "/xa")
        )
        var watch = watch(here, there, alsoHere)
        // In this test, folders whose names end with the same letter are on one volume.
        let ready = watch.ready(supply(["/a": 1500, "/b": 1500, "/xa": 1500]), at: .start)
        #expect(ready.map(\.id) == [here.id, there.id])
    }

    @Test func anUnknownNeedWaitsForASensibleAmount() {
        let one = waiter(1, needs: nil)
        var watch = watch(one)
        #expect(watch.ready(supply(["/a": 1 << 20 - 1]), at: .start).isEmpty)
        #expect(watch.ready(supply(["/a": 1 << 20]), at: .start).count == 1)
    }

    @Test func spaceForNothingIsNoSpace() {
        var watch = watch(waiter(1, needs: 0))
        #expect(watch.ready(supply(["/a": 0]), at: .start).isEmpty)
        #expect(watch.ready(supply(["/a": 1]), at: .start).count == 1)
    }

    @Test func theQuotaIsCountedApart() {
        let one = waiter(1, needs: 1000, for: .quota)
        var watch = watch(one)
        #expect(watch.waitsForQuota)
        #expect(watch.ready(supply(["/a": 1 << 30], quota: (999, 10_000)), at: .start).isEmpty)
        #expect(watch.ready(supply(["/a": 0], quota: (1000, 10_000)), at: .start).map(\.id) == [one.id])
        #expect(watch.ready(supply([:], quota: (-5, 10_000)), at: .start).isEmpty)
    }

    /// `statvfs` may report free space all the time, although a user's quota is used up or no inodes are left.
    @Test func triesADiskThatDoesNotSayWhyItIsFullAtGrowingDistances() {
        var one = waiter(1, needs: 1000)
        var watch = watch(one)
        var waits: [Int] = []
        var now = 0
        for _ in 0..<6 {
            let since = now
            while watch.ready(supply(["/a": 1 << 30]), at: .start + .seconds(now)).isEmpty { now += 1 }
            waits.append(now - since)
            // The download resumes, finds no space, and waits again.
            one.since = .start + .seconds(now)
            watch.add(one)
        }
        #expect(waits == [0, 2, 4, 8, 16, 32])
        // After a reading without space, free space is a new reason to try.
        #expect(watch.ready(supply(["/a": 10]), at: .start + .seconds(now)).isEmpty)
        #expect(watch.ready(supply(["/a": 1 << 30]), at: .start + .seconds(now)).count == 1)
        #expect(DiskSpaceWaitList.patience(1_000_000) == .seconds(256))
    }

    @Test func triesNowAndThenWhereTheDiskSaysNothing() {
        let one = waiter(1, needs: 1000)
        var watch = watch(one)
        #expect(watch.ready(supply([:]), at: .start).map(\.id) == [one.id])
        watch.add(one)
        #expect(watch.ready(supply([:]), at: .start + .seconds(1)).isEmpty)
        #expect(watch.ready(supply([:]), at: .start + .seconds(2)).count == 1)
    }

    /// Checks random histories of free space: no download resumes without space, and none waits if there is enough for
    /// all.
    @Test(arguments: UInt64(0)..<50)
    func givesOutNoMoreThanThereIs(_ seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var watch = DiskSpaceWaitList()
        var needs: [DownloadID: Int64] = [:]
        for step in 0..<200 {
            let now = Instant.start + .seconds(step)
            if Int.random(in: 0..<3, using: &random) > 0 {
                let one = waiter(
                    .random(in: 0..<100, using: &random),
                    needs: .random(in: 1..<10_000, using: &random),
                    since: now
                )
                watch.add(one)
                needs[one.id] = one.needed
            }
            let free = Int64.random(in: 0..<20_000, using: &random)
            let ready = watch.ready(supply(["/a": free]), at: now)
            #expect(ready.reduce(0) { $0 + ($1.needed ?? 0) } <= free, "seed \(seed)")
            for one in ready {
                watch.forget(one.id)
                needs[one.id] = nil
            }
            #expect(watch.count == needs.count, "seed \(seed)")
        }
        let all = watch.ready(supply(["/a": 100 << 20]), at: .start + .seconds(1000))
        #expect(Set(all.map(\.id)) == Set(needs.keys), "seed \(seed)")
    }
}
