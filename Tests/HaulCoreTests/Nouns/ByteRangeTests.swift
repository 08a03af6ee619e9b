import Testing

@testable import HaulCore

struct ByteRangeTests {
    @Test(arguments: [(-1, 5), (5, 4), (-2, -1), (Int64.min, Int64.max), (Int64.max, 0)] as [(Int64, Int64)])
    func isNeverNegativeNorInverted(_ lower: Int64, _ upper: Int64) { #expect(ByteRange(lower, upper) == nil) }

    @Test func countsWithoutOverflow() throws {
        let all = try #require(ByteRange(0, .max))
        #expect(all.count == .max && !all.isEmpty)
        let none = try #require(ByteRange(.max, .max))
        #expect(none.isEmpty && none.count == 0)
        #expect("\(all)" == "0..<9223372036854775807")
    }
}
