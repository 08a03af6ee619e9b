import HaulTesting
import ServiceLifecycle
import ServiceLifecycleTestKit
import Testing

@testable import HaulKit

struct DownloaderServiceTests {
    @Test func shutsDownWithItsGroupAndGoesOnAtTheNextStart() async throws {
        try await ManagerRig.run { rig in
            let download = try await rig.downloader.add(try rig.named("a", "slow"))
            await download.reaches(1000)
            try await testGracefulShutdown { trigger in
                async let service: Void = rig.downloader.run()
                trigger.triggerGracefulShutdown()
                try await service
            }
            let error = await #expect(throws: DownloadError.self) { try await download.result() }
            #expect(error?.code == .shutDown)
            // The name is free again: the service has let go of everything.
            let next = try await Downloader(rig.configuration)
            #expect(try await next.download(download.id)?.snapshot.receivedBytes == 1000)
            await next.shutDown()
        }
    }

    @Test func shutsDownWhenItsTaskIsCancelled() async throws {
        try await ManagerRig.run { rig in
            let service = Task { try await rig.downloader.run() }
            service.cancel()
            try await service.value
            await #expect(throws: DownloadError.self) { try await rig.downloader.add(try rig.named("a")) }
        }
    }
}
