import Testing

@testable import HaulFleet

@Suite struct PartPlanTests {
    @Test(arguments: [0, 1, 8 << 20, (8 << 20) + 1, 80 << 30, (80 << 30) + 1, 1 << 40, 48 << 40] as [Int64])
    func `Parts of one size cover the object within the limits of S3`(bytes: Int64) throws {
        let plan = try PartPlan(bytes: bytes, least: 8 << 20)
        #expect(plan.isSingle == (bytes <= 8 << 20))
        #expect(plan.numbers.count <= 10_000)
        #expect(plan.partSize <= 5 << 30)
        #expect(plan.range(1).lowerBound == 0)
        #expect(plan.range(plan.numbers.upperBound).upperBound == bytes)
        guard !plan.isSingle else { return }
        #expect(plan.range(2).lowerBound == plan.range(1).upperBound)
        #expect((1...plan.partSize).contains(Int64(plan.range(plan.numbers.upperBound).count)))
        #expect(plan.partSize >= 8 << 20)
    }

    @Test func `Parts of a tebibyte are 105 MiB, and more than 48.8 TiB are refused`() throws {
        #expect(try PartPlan(bytes: 1 << 40, least: 8 << 20).partSize == 105 << 20)
        #expect(throws: FleetError.self) { _ = try PartPlan(bytes: 50 << 40, least: 8 << 20) }
        #expect(throws: FleetError.self) { _ = try PartPlan(bytes: .max, least: 8 << 20) }
        #expect(throws: FleetError.self) { _ = try PartPlan(bytes: -1, least: 8 << 20) }
    }

    @Test func `An upload's token tells for which content it was started`() throws {
        let token = UploadToken(sha256: Array(0..<32), id: "a:b+/=")
        let parsed = try #require(UploadToken(token.description))
        #expect(parsed == token)
        #expect(parsed.id == "a:b+/=")
        #expect(parsed.isOf(Array(0..<32)))
        #expect(!parsed.isOf(Array(1..<33)))
        for text in [
            "", "abc", ":", "abc:def", String(repeating: "g", count: 32) + ":x",
            String(repeating: "0", count: 32) + ":",
        ] {
            #expect(UploadToken(text) == nil)
        }
    }
}
