import Testing

@testable import HaulCore
@testable import HaulKit

/// Distribution of scarce file descriptors over downloads and connections.
@Suite struct DescriptorBudgetTests {
    @Test(arguments: 0...200) func neverPromisesMoreThanThereAre(free: Int) {
        let budget = DescriptorBudget(free: free, active: 3)
        #expect(budget.downloads >= 1 && budget.connections >= budget.downloads)
        if free >= DescriptorBudget.least(eventLoops: 0) {
            #expect(min(3, budget.downloads) + budget.backingOff + 2 * budget.connections <= max(3, free))
        }
    }

    @Test func manyDescriptorsLimitNothing() {
        let budget = DescriptorBudget(
            free: DescriptorBudget.most(downloads: 10, connections: 16, eventLoops: 2),
            active: 10
        )
        #expect(budget.downloads >= 10 && budget.connections >= 160)
        #expect(!budget.isTight)
    }

    @Test func aProcessOfFewDescriptorsHasFewEventLoops() {
        #expect(DescriptorBudget.eventLoops(cores: 64, free: 20) == 1)
        #expect(DescriptorBudget.eventLoops(cores: 64, free: 1000) == 64)
        #expect(DescriptorBudget.eventLoops(cores: 2, free: 1000) == 2)
    }

    @Test func countsNoFurtherThanANumberGoes() {
        #expect(DescriptorBudget.most(downloads: .max, connections: .max, eventLoops: 1) == .max)
        #expect(DescriptorBudget.most(downloads: 1000, connections: 256, eventLoops: 1) > 256_000)
    }
}
