import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Additional connections that bring only a byte now and then.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct DrippingConnectionTests {
    @Test(arguments: [Set([2, 3, 4, 5]), [2, 3, 4, 6]])
    func areReplacedAlsoWhereAllOfThemDrip(_ drips: Set<Int>) async throws {
        let content = TestContent(seed: 5, count: 4_000_000)
        let (fast, slow) = (content.resource().paced(4_000_000), content.resource().paced(1))
        try await DownloaderRig.run(
            configure: { $0.share() },
            serving: { drips.contains($0.requestNumber) ? slow.reply(to: $0) : fast.reply(to: $0) }
        ) { rig in
            try await rig.download()
            #expect(try rig.holdsOnly(content))
        }
    }
}
