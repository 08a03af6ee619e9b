import Testing

@testable import HaulCore

struct ComparisonPlanTests {
    private static let block = ComparisonPlan.blockLength
    private static let overlap = RangeRequest.overlapLength

    private func plan(_ count: Int64, since fresh: Int64? = nil, seed: UInt64 = 1) -> ComparisonPlan {
        ComparisonPlan(
            of: ByteSet(prefix: count),
            besides: max(0, count - Self.overlap)..<count,
            since: fresh,
            seed: seed
        )
    }

    private func blocks(_ plan: ComparisonPlan, zeros: ByteSet = ByteSet()) -> [Range<Int64>] {
        plan.blocks { !zeros.containsAll(of: $0) }
    }

    @Test(arguments: [1 << 20, 4_000_000, 1 << 30, 1 << 40] as [Int64])
    func takesBlocksFromAllOverTheFile(_ count: Int64) {
        let share = (count - Self.overlap) / Int64(ComparisonPlan.mostBlocks)
        for seed in UInt64(0)..<50 {
            let blocks = blocks(plan(count, seed: seed))
            #expect(blocks.count == ComparisonPlan.mostBlocks)
            #expect(blocks.first == 0..<Self.block)
            for (index, block) in blocks.enumerated() {
                #expect(block.upperBound - block.lowerBound == Self.block && block.upperBound <= count - Self.overlap)
                #expect(block.lowerBound / (share + 1) <= index && block.lowerBound >= share * Int64(index))
            }
        }
    }

    @Test(arguments: [20_000, 16_385 + 16_384, 100_000, 245_760 + 16_384] as [Int64])
    func comparesASmallFileWhole(_ count: Int64) {
        let blocks = blocks(plan(count))
        #expect(ByteSet(blocks) == ByteSet(prefix: count - Self.overlap))
        #expect(blocks.reduce(0) { $0 + ($1.upperBound - $1.lowerBound) } == count - Self.overlap)
    }

    @Test func comparesNothingBesidesTheTailWhereThereIsNothing() {
        #expect(blocks(plan(Self.overlap)).isEmpty)
        #expect(blocks(plan(0)).isEmpty)
    }

    @Test func comparesOtherPlacesWithAnotherSeedAndTheSameWithTheSame() {
        #expect(blocks(plan(10_000_000, seed: 3)) == blocks(plan(10_000_000, seed: 3)))
        #expect(blocks(plan(10_000_000, seed: 3)) != blocks(plan(10_000_000, seed: 4)))
    }

    @Test(arguments: [(0, 3), (100_000, 3), (512 * 1024, 4), (1 << 20, 8), (1 << 30, 15)] as [(Int64, Int)])
    func comparesLessWhereLittleCameSinceTheLastTime(_ fresh: Int64, _ count: Int) {
        #expect(blocks(plan(1 << 30, since: fresh)).count == count)
    }

    @Test(arguments: [0..<9_000_000, 1_000_000..<10_000_000, 0..<5_000_000, 2_000_000..<2_050_000] as [Range<Int64>])
    func takesAsManyBlocksThatAreNotZerosWhereThereAreSome(_ zeros: Range<Int64>) {
        let share = (10_000_000 - Self.overlap) / Int64(ComparisonPlan.mostBlocks)
        for seed in UInt64(0)..<20 {
            let plan = plan(10_000_000, seed: seed)
            let all = blocks(plan, zeros: ByteSet(zeros))
            #expect(all == all.sorted { $0.lowerBound < $1.lowerBound })
            let blocks = all.filter { !zeros.contains($0) }
            #expect(blocks.count == ComparisonPlan.mostBlocks)
            // One block stands for a part that is all zeros, because another version may have other bytes there.
            #expect(Set(all.map { $0.lowerBound / (share + 1) }).count >= ComparisonPlan.mostBlocks - 1)
            #expect(all.count <= 2 * ComparisonPlan.mostBlocks - 1)
            // The last bytes are zeros, so earlier blocks replace them.
            if zeros.upperBound == 10_000_000 { #expect(blocks.last.map { $0.upperBound > 900_000 } == true) }
        }
    }

    @Test func findsTheOnlyBlockThatIsNotZeros() {
        let data: Range<Int64> = 5_000_000..<5_000_010
        let zeros = ByteSet(prefix: 10_000_000).subtracting(ByteSet(data))
        let blocks = blocks(plan(10_000_000), zeros: zeros)
        let varied = blocks.filter { $0.overlaps(data) }
        #expect(!varied.isEmpty && varied.count <= 2 && blocks.count < ComparisonPlan.mostBlocks + 2)
        #expect(ByteSet(blocks).containsAll(of: data))
    }

    @Test func comparesZerosWhereThereIsNothingElse() {
        let blocks = blocks(plan(10_000_000), zeros: ByteSet(prefix: 10_000_000))
        #expect(blocks.count == ComparisonPlan.mostBlocks && blocks.first == 0..<Self.block)
    }

    @Test func takesOnlyWhatIsHere() {
        var here = ByteSet(0..<300_000)
        here.insert(contentsOf: 5_000_000..<5_400_000)
        here.insert(contentsOf: 9_000_000..<9_000_001)
        for seed in UInt64(0)..<50 {
            let plan = ComparisonPlan(of: here, besides: 283_616..<300_000, since: nil, seed: seed)
            let blocks = blocks(plan)
            #expect(!blocks.isEmpty)
            for block in blocks {
                #expect(here.containsAll(of: block) && !block.isEmpty)
                #expect(block.upperBound <= 283_616 || block.lowerBound >= 300_000)
            }
        }
    }

    @Test(
        arguments: [([], false), ([7], false), ([7, 7, 7], false), ([0, 0, 1], true), ([1, 0, 0], true)]
            as [([UInt8], Bool)]
    )
    func knowsWhatIsMoreThanOneRepeatedByte(_ bytes: [UInt8], _ isVaried: Bool) {
        #expect(bytes.isVaried == isVaried)
    }
}
