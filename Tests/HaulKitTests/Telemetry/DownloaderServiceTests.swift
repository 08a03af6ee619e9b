import HaulTesting
import ServiceLifecycle
import ServiceLifecycleTestKit
import Testing

@testable import HaulCore
@testable import HaulKit

struct DownloaderServiceTests {
    @Test func shutsDownWithItsGroupAndGoesOnAtTheNextStart() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let download = try await rig.downloader.add(try rig.named("a", "slow"))
            await download.reaches(1000)
            try await testGracefulShutdown { trigger async throws in
                async let service: Void = rig.downloader.run()
                trigger.triggerGracefulShutdown()
                try await service
            }
            let error = await #expect(throws: DownloadError.self) { try await download.result() }
            #expect(error?.code == .shutDown)
            // The service has released the store, so another downloader can open it.
            try await rig.another { next async throws in
                #expect(try await next.find(id: download.id)?.snapshot.receivedBytes == 1000)
            }
        }
    }

    @Test func shutsDownWhenItsTaskIsCancelled() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let service = Task { try await rig.downloader.run() }
            service.cancel()
            try await service.value
            await #expect(throws: DownloadError.self) { try await rig.downloader.add(try rig.named("a")) }
        }
    }
}

/// Sequences that are read in a service do not delay the graceful shutdown of its group.
@Suite(.timeLimit(.minutes(60)))
struct EventsOfAServiceTests {
    enum Sequence: CaseIterable {
        case download, ending, downloader, group
    }

    @Test(arguments: Sequence.allCases)
    func endAtTheGracefulShutdown(_ sequence: Sequence) async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let download = try await rig.downloader.add(try rig.named("a", "slow") { $0.group = "g" })
            await download.reaches(1000)
            try await testGracefulShutdown { trigger async throws in
                async let reader: Void = {
                    switch sequence {
                    case .download: for await _ in download.events {}
                    case .ending: for await _ in download.ending {}
                    case .downloader: for await _ in rig.downloader.events {}
                    case .group: for await _ in rig.downloader.group("g").events {}
                    }
                }()
                for _ in 0..<100 { await Task.yield() }
                trigger.triggerGracefulShutdown()
                await reader
            }
            // The download goes on; only its listeners have ended.
            #expect(download.snapshot.state == .transferring)
        }
    }

    @Test func endAtOnceWhereTheShutdownHasBegun() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let download = try await rig.downloader.add(try rig.named("a", "slow"))
            await download.reaches(1000)
            try await testGracefulShutdown { trigger async throws in
                trigger.triggerGracefulShutdown()
                var events: [DownloadEvent] = []
                for await event in download.events { events.append(event) }
                // Past events are still delivered.
                #expect(events.count == 1)
                for await _ in rig.downloader.events {}
            }
        }
    }

    @Test func closuresAndResultsAreOfTheDownloadNotOfTheService() async throws {
        try await DownloaderRig.run(serving: TestContent.first.resource().silentFirst()) { rig async throws in
            let download = try await rig.downloader.add(try rig.request())
            await download.reaches(cut)
            try await testGracefulShutdown { trigger async throws in
                let ends = AsyncStream<Bool> { continuation in
                    download.onSuccess { _ in
                        continuation.yield(true)
                        continuation.finish()
                    }
                }
                trigger.triggerGracefulShutdown()
                try await download.pause()
                try await download.resume()
                #expect(try await download.result().bytes == TestContent.first.count)
                #expect(await ends.reduce(into: []) { $0.append($1) } == [true])
            }
        }
    }

    @Test func aGroupOfServicesEndsWithAnOpenSequence() async throws {
        struct Reader: Service {
            let downloader: Downloader
            func run() async throws {
                let listed = try await downloader.list()
                await withTaskGroup(of: Void.self) { group in
                    group.addTask { for await _ in downloader.events {} }
                    group.addTask { for await _ in downloader.group("g").events {} }
                    for snapshot in listed {
                        guard let download = try? await downloader.find(id: snapshot.id) else { continue }
                        group.addTask { for await _ in download.events {} }
                    }
                }
            }
        }
        try await DownloaderRig.runManyFiles { rig async throws in
            let download = try await rig.downloader.add(try rig.named("a", "slow"))
            await download.reaches(1000)
            for services in [[rig.downloader, Reader(downloader: rig.downloader)] as [any Service]] {
                let group = ServiceGroup(
                    configuration: .init(services: services, logger: rig.configuration.telemetry.logger)
                )
                let running = Task { try await group.run() }
                for _ in 0..<100 { await Task.yield() }
                await group.triggerGracefulShutdown()
                try await running.value
            }
        }
    }
}
