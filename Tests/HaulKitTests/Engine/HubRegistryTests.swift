import HaulTesting
import Testing

@testable import HaulKit

struct HubRegistryTests {
    private let registry = HubRegistry()
    private let id = DownloadID()

    private func hub() -> EventHub {
        registry.hub(id) { .made(.queued, id: id, url: link("https://h/a"), receivedBytes: 0) }
    }

    @Test func givesAllHoldersTheSameHub() {
        let first = hub()
        #expect(hub() === first && registry.existing(id) === first)
        #expect(registry.all.map(\.id) == [id])
    }

    @Test func forgetsAHubThatNobodyHolds() {
        do { _ = hub() }
        #expect(registry.existing(id) == nil && registry.all.isEmpty)
    }

    /// The last holder of one hub goes while that of the next comes, over and over.
    @Test func bearsHoldersThatComeAndGoAtOnce() async {
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask { for _ in 0..<20_000 { withExtendedLifetime(hub()) {} } }
            }
        }
        #expect(registry.all.isEmpty)
    }
}
