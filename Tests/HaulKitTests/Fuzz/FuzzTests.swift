#if !HAUL_TOOL
    import Foundation
    import Testing

    @testable import HaulKit

    /// Tests each parser with a few thousand odd inputs. `Scripts/fuzz` tests many more.
    @Suite struct FuzzTests {
        @Test(arguments: FuzzTarget.all.indices) func survivesOddInputs(_ index: Int) {
            let target = FuzzTarget.all[index]
            let seed = ProcessInfo.processInfo.environment["HAUL_FUZZ_SEED"].flatMap { UInt64($0) } ?? 1
            let count = UInt64(ProcessInfo.processInfo.environment["HAUL_FUZZ_INPUTS"].flatMap { UInt64($0) } ?? 2000)
            for text in target.seeds {
                #expect(target.check(Array(text.utf8)) == nil, "\(target.name): \(text.debugDescription)")
            }
            for number in 0..<count {
                var mutator = Mutator(seed: seed &* 1_000_003 &+ number)
                let bytes = mutator.input(target)
                if let wrong = target.check(bytes) {
                    Issue.record(
                        "\(target.name): \(wrong), for \(String(decoding: bytes, as: UTF8.self).debugDescription), \(bytes)"
                    )
                    return
                }
            }
        }
    }
#endif
