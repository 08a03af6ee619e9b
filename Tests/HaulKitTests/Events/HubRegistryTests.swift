import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

struct HubRegistryTests {
    private let registry = HubRegistry()
    private let id = DownloadID()

    private func hub() -> EventBroadcaster {
        registry.hub(id) { (.made(.queued, id: id, url: link("https://h/a"), receivedBytes: 0), nil) }
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

    @Test func endsWhatHasNotEndedAlsoOfHubsThatComeLater() {
        let first = hub()
        _ = registry.close(.cancelled) { _ in nil }
        #expect(first.outcome == .cancelled)
        let later = registry.hub(DownloadID()) { (.made(.queued, url: link("https://h/b")), nil) }
        #expect(later.outcome == .cancelled)
    }

    /// Releases the last holder of a hub while the holder of the next hub begins, repeatedly.
    @Test func bearsHoldersThatComeAndGoAtOnce() async {
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask { for _ in 0..<20_000 { withExtendedLifetime(hub()) {} } }
            }
        }
        #expect(registry.all.isEmpty)
    }
}
