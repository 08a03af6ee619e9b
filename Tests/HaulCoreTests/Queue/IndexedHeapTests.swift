import Testing

@testable import HaulCore

struct IndexedHeapTests {
    @Test(arguments: 0..<50 as Range<UInt64>)
    func keepsEveryoneInItsPlace(_ seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var heap = IndexedHeap()
        var ranks = (0..<40).map { _ in Int.random(in: 0..<30, using: &random) }
        var places = Array(repeating: IndexedHeap.outside, count: ranks.count)
        var members: Set<Int> = []
        for _ in 0..<300 {
            let number = Int.random(in: 0..<ranks.count, using: &random)
            ranks[number] = Int.random(in: 0..<30, using: &random)
            let isIn = Bool.random(using: &random)
            heap.set(
                number,
                at: places[number],
                isIn: isIn,
                precedes: { ranks[$0] < ranks[$1] },
                moved: { places[$0] = $1 }
            )
            if isIn { members.insert(number) } else { members.remove(number) }
            #expect(heap.count == members.count && heap.isEmpty == members.isEmpty, "seed \(seed)")
            #expect(heap.first.map { ranks[$0] } == members.map { ranks[$0] }.min(), "seed \(seed)")
            for number in ranks.indices {
                let isRight = members.contains(number) ? heap[places[number]] == number : places[number] < 0
                #expect(isRight, "seed \(seed)")
            }
        }
    }
}
