import Foundation
import GRDB
import HaulTesting
import Logging
import Synchronization
import Testing

@testable import HaulCore
@testable import HaulKit

/// Settings that are changed while the downloader runs, read back, and remembered.
@Suite(.timeLimit(.minutes(60)))
struct ConfigurationUpdateTests {
    private typealias Settings = Downloader.Configuration

    /// Gives every setting that can be changed another value than its default.
    private static let change: @Sendable (inout Settings) -> Void = { settings in
        settings.queue.maxConcurrentDownloads = 7
        settings.queue.maxPerHost = 2
        settings.queue.hostSpacing = .milliseconds(1500)
        settings.queue.preempts = true
        settings.queue.timetable = Timetable(always: .open(bytesPerSecond: 900_000))
        settings.connections.maxPerDownload = 5
        settings.connections.initial = 3
        settings.connections.maxPerHost = 4
        settings.connections.smallestPiece = 1 << 20
        settings.network.bytesPerSecond = 800_000
        settings.network.waitsForNetwork = false
        settings.network.allowsMetered = false
        settings.storage.waitsForSpace = false
        settings.storage.reservedDiskSpace = 4096
        settings.storage.diskQuota = 1 << 40
        settings.storage.progressInterval = .milliseconds(250)
        settings.storage.syncInterval = .seconds(9)
        settings.retry.attempts = 11
        settings.retry.retryAfterCap = .seconds(7)
    }

    private static func expectChanged(_ settings: Settings) {
        var wanted = settings
        change(&wanted)
        #expect(wanted.changes(from: settings) == [])
    }

    @Test func everyRememberedSettingIsChangedByTheTests() {
        var settings = Settings(stateFolder: "/nowhere")
        Self.change(&settings)
        let changes = settings.changes(from: Settings(stateFolder: "/nowhere"))
        #expect(changes.map(\.name) == RememberedSetting.all.map(\.name))
        var read = Settings(stateFolder: "/nowhere")
        #expect(read.assign(changes) == [])
        Self.expectChanged(read)
    }

    @Test func appliesAtOnceAndReadsBack() async throws {
        let monitor = ScriptedNetworkMonitor(.unknown)
        try await DownloaderRig.runManyFiles(configure: { $0.network.monitor = monitor }) { rig async throws in
            let downloader = rig.downloader
            let needsAnother = try await downloader.update(Self.change)
            #expect(needsAnother.isEmpty)
            Self.expectChanged(await downloader.configuration)
            #expect(
                await downloader.presentLimits
                    == .init(active: 7, activePerHost: 2, hostSpacing: .milliseconds(1500), preempts: true)
            )
            #expect(await downloader.limiter.bytesPerSecond == 800_000)
            #expect(await downloader.presentTimetable == Timetable(always: .open(bytesPerSecond: 900_000)))
            #expect(await downloader.watchesNetwork)
            #expect(await downloader.conditions.waitsForNetwork == false)
            #expect(await downloader.conditions.allowsMetered == false)
            try await downloader.update { $0.network.bytesPerSecond = 0 }
            #expect(await downloader.limiter.bytesPerSecond == 900_000)
            try await downloader.update { $0.queue.maxConcurrentDownloads = -1 }
            #expect(await downloader.presentLimits.active == 1)
        }
    }

    /// A part of a user interface that holds a setting.
    @MainActor private final class SettingsView {
        var limit = 4
        let downloader: Downloader

        init(_ downloader: Downloader) { self.downloader = downloader }

        func save() async throws { try await downloader.update { $0.queue.maxConcurrentDownloads = self.limit } }
    }

    @Test func takesItsValuesFromTheMainActor() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            try await SettingsView(rig.downloader).save()
            #expect(await rig.downloader.configuration.queue.maxConcurrentDownloads == 4)
        }
    }

    @Test func callsAtOnceLoseNoChange() async throws {
        try await DownloaderRig.runManyFiles(configure: { $0.retry.attempts = 0 }) { rig async throws in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<50 {
                    group.addTask { _ = try await rig.downloader.update { $0.retry.attempts += 1 } }
                }
                try await group.waitForAll()
            }
            #expect(await rig.downloader.configuration.retry.attempts == 50)
        }
    }

    @Test func aRunThatStartsLaterHasTheNewSettings() async throws {
        try await DownloaderRig.runManyFiles(configure: { $0.queue.maxConcurrentDownloads = 1 }) { rig async throws in
            let running = try await rig.downloader.add(rig.named("a", "slow"))
            let waiting = try await rig.downloader.add(rig.named("b"))
            for await event in running.events {
                if case .changed(let snapshot) = event, snapshot.state == .transferring { break }
            }
            try await rig.downloader.update { settings in
                settings.retry.attempts = 3
                settings.connections.maxPerDownload = 9
            }
            let settings = try #require(await rig.downloader.machineSettings(waiting.id))
            #expect(settings.retry.attempts == 3)
            #expect(settings.limits.connections == 9)
            try await rig.downloader.update { $0.queue.maxConcurrentDownloads = 2 }
            #expect(try await waiting.result().bytes == Int64(TestContent.small.count))
        }
    }

    @Test func aDownloadThatWaitsForTheQuotaRunsWhenItIsLifted() async throws {
        try await SimulatedRig.run(configure: { $0.storage.diskQuota = SimulatedRig.size }) { rig async throws in
            _ = try await rig.add(1).result()
            let held = try await rig.add(2)
            _ = await held.isHeld(for: .quota)
            try await rig.downloader.update { $0.storage.diskQuota = nil }
            #expect(try await held.result().bytes == SimulatedRig.size)
            try await rig.downloader.update { $0.storage.diskQuota = 3 * SimulatedRig.size - 1 }
            await #expect(throws: Never.self) { try await rig.downloader.update { $0.storage.waitsForSpace = false } }
            let last = try await rig.add(3)
            let error = await #expect(throws: DownloadError.self) { try await last.result() }
            #expect(error?.code == .diskFull)
        }
    }

    @Test func countsWhatRunsWhenAQuotaIsSet() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let running = try await rig.downloader.add(rig.named("a", "slow"))
            for await event in running.events {
                if case .changed(let snapshot) = event, snapshot.state == .transferring { break }
            }
            let size = Int64(TestContent.small.count)
            try await rig.downloader.update { $0.storage.diskQuota = 2 * size - 1 }
            #expect(await rig.downloader.quotaInUse == size)
            let held = try await rig.downloader.add(rig.named("b"))
            _ = await held.isHeld(for: .quota)
        }
    }

    @Test func callsTheProviderThatWasSetLast() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let url = try #require(URL(string: rig.server.url("/fast/a")))
            let (first, second) = (
                DownloadRequest(key: "first", to: .folder(path: rig.folder)),
                DownloadRequest(key: "second", to: .folder(path: rig.folder))
            )
            await #expect(throws: DownloadError.self) { try await rig.downloader.add(first) }
            try await rig.downloader.update { $0.sources.provider = { _ in DownloadSource(url) } }
            #expect(try await rig.downloader.add(first).result().bytes == Int64(TestContent.small.count))
            try await rig.downloader.update { $0.queue.timetable = Timetable(always: .closed) }
            let waiting = try await rig.downloader.add(second)
            try await rig.downloader.update { settings in
                settings.sources.provider = nil
                settings.queue.timetable = nil
            }
            let error = await #expect(throws: DownloadError.self) { try await waiting.result() }
            #expect(error?.code == .sourceFailed)
        }
    }

    @Test func saysWhichSettingsNeedANewDownloader() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let before = await rig.downloader.configuration
            let needsAnother = try await rig.downloader.update { settings in
                settings.network.monitor = ScriptedNetworkMonitor(.unknown)
                settings.network.certificateAuthorities = "/other"
                settings.storage.name = "other"
                settings.storage.remembersSettings = true
                settings.telemetry.logger.logLevel = .trace
                settings.connections.maxPerHost = 3
            }
            #expect(
                needsAnother == [
                    "network.monitor", "network.certificateAuthorities", "storage.name", "storage.remembersSettings",
                    "telemetry.logger",
                ]
            )
            let after = await rig.downloader.configuration
            #expect(after.network.certificateAuthorities == before.network.certificateAuthorities)
            #expect(after.storage.name == before.storage.name)
            #expect(after.network.monitor == nil)
            #expect(after.connections.maxPerHost == 3)
        }
    }

    @Test func requestsToComeGoByTheNewNetworkSettings() async throws {
        let proxy = try await TestProxy.start(.http)
        let setting = try ProxySettings.Proxy(proxy.url)
        try await DownloaderRig.runManyFiles(configure: { $0.retry.attempts = 0 }) { rig async throws in
            let running = try await rig.downloader.add(try rig.named("running", "slow"))
            await running.reaches(1000)
            let kept = try await rig.downloader.update { settings in
                settings.network.binding = .localAddress("127.0.0.9")
                settings.network.userAgent = "other"
                settings.network.netrc = Netrc("machine localhost login ada password secret")
            }
            #expect(kept.isEmpty)
            try await rig.download(try rig.named("a"))
            let requests = rig.server.requests
            #expect(requests.map(\.remoteAddress) == ["127.0.0.1", "127.0.0.9"])
            #expect(requests.last?["User-Agent"] == "other" && requests.first?["User-Agent"] != "other")
            #expect(running.snapshot.state == .transferring, "what runs is not disturbed")
            try await rig.downloader.update { $0.network.proxies = ProxySettings(setting) }
            try await rig.download(try rig.named("b"))
            #expect(proxy.entries.count == 1)
            try await rig.downloader.update { settings in
                settings.network.proxies = .direct
                settings.network.deniedAddresses = AddressBlock.nonPublic
            }
            #expect(try await rig.failure(of: try rig.named("c")).code == .addressDenied)
            #expect(proxy.entries.count == 1)
        }
        await proxy.stop()
    }

    @Test func requestsToComeWaitAsLongAsTheNewSettingsSay() async throws {
        try await DownloaderRig.runManyFiles(configure: { settings in
            (settings.retry.attempts, settings.retry.attemptsBeforeFirstAnswer) = (0, 0)
        }) { rig async throws in
            let running = try await rig.downloader.add(try rig.named("running", "slow"))
            await running.reaches(1000)
            try await rig.downloader.update { $0.connections.stallTimeout = .milliseconds(50) }
            #expect(try await rig.failure(of: try rig.named("a", "slow")).code == .timedOut)
            #expect(running.snapshot.state == .transferring)
        }
    }

    @Test func everyFixedSettingHasThePathOfItsProperty() {
        for setting in Settings.FixedSetting.allCases {
            let parts = setting.rawValue.split(separator: ".")
            let group = Mirror(reflecting: Settings(stateFolder: "/nowhere")).children.first {
                $0.label == String(parts[0])
            }
            let name = String(parts[1])
            let assigned = "assigned" + name.prefix(1).uppercased() + name.dropFirst()
            let names = group.map { Mirror(reflecting: $0.value).children.compactMap(\.label) } ?? []
            #expect(names.contains(name) || names.contains(assigned), "\(setting.rawValue)")
        }
    }

    @Test func remembersWhatWasChangedIfWished() async throws {
        try await DownloaderRig.runManyFiles(configure: { $0.storage.remembersSettings = true }) { rig async throws in
            try await rig.downloader.update(Self.change)
            var configuration = rig.configuration
            configuration.network.bytesPerSecond = 1
            try await rig.reopened(configuration) { next async throws in
                Self.expectChanged(await next.configuration)
                #expect(await next.presentLimits.active == 7)
                #expect(await next.limiter.bytesPerSecond == 800_000)
                #expect(await next.presentTimetable == Timetable(always: .open(bytesPerSecond: 900_000)))
                try await next.forgetSettings()
                #expect(await next.presentLimits.active == 7)
            }
            try await rig.another(configuration) { last async throws in
                #expect(await last.presentLimits.active == configuration.queue.maxConcurrentDownloads)
                #expect(await last.limiter.bytesPerSecond == 1)
            }
        }
    }

    @Test func remembersOnlyWhatWasChanged() async throws {
        try await DownloaderRig.runManyFiles(configure: { $0.storage.remembersSettings = true }) { rig async throws in
            try await rig.downloader.update { $0.queue.maxPerHost = 5 }
            try await rig.downloader.update { $0.queue.maxPerHost = nil }
            var configuration = rig.configuration
            configuration.queue.maxConcurrentDownloads = 9
            configuration.queue.maxPerHost = 4
            try await rig.reopened(configuration) { next async throws in
                #expect(await next.presentLimits.active == 9)
                #expect(await next.presentLimits.activePerHost == nil)
            }
        }
    }

    @Test func remembersNothingByDefault() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            try await rig.downloader.update(Self.change)
            var configuration = rig.configuration
            configuration.storage.remembersSettings = true
            try await rig.reopened(configuration) { next async throws in
                #expect(await next.configuration.changes(from: configuration) == [])
                try await next.update { $0.queue.maxConcurrentDownloads = 8 }
            }
            // The store has a remembered setting now, but this configuration does not read it.
            try await rig.another { last async throws in
                #expect(await last.configuration.changes(from: rig.configuration) == [])
            }
        }
    }

    @Test func ignoresAndReportsOddRememberedValues() async throws {
        let reported = Mutex<[String]>([])
        try await DownloaderRig.runManyFiles(configure: { configuration in
            configuration.storage.remembersSettings = true
            configuration.storage.onOddRow = { name in reported.withLock { $0.append(name) } }
        }) { rig async throws in
            await rig.downloader.shutDown()
            let odd: [(String, DatabaseValue)] = [
                ("queue.maxConcurrentDownloads", "6".databaseValue), ("queue.maxPerHost", "[\"two\"]".databaseValue),
                ("queue.hostSpacing", "[[9223372036854775807,0]]".databaseValue),
                ("queue.timetable", "[\"25:00,off\"]".databaseValue), ("queue.other", "[1]".databaseValue),
                ("connections.initial", Data([0xFF, 0]).databaseValue), ("connections.maxPerHost", "[]".databaseValue),
                ("storage.diskQuota", "[9223372036854775807]".databaseValue),
                ("storage.progressInterval", "[[0,0]]".databaseValue), ("network.allowsMetered", 1.5.databaseValue),
                ("retry", "[{\"attempts\":-9223372036854775808}]".databaseValue), ("", "[1]".databaseValue),
            ]
            let queue = try DatabaseQueue(path: rig.configuration.storage.stateFolder + "/default.sqlite")
            try await queue.write { database in
                for (name, value) in odd + [("queue.preempts", "[true]".databaseValue)] {
                    try database.execute(
                        sql: "INSERT INTO setting (name, value) VALUES (?, ?)",
                        arguments: ["configuration." + name, value]
                    )
                }
            }
            try queue.close()
            try await rig.another { next async throws in
                #expect(await next.configuration.changes(from: rig.configuration).map(\.name) == ["queue.preempts"])
                #expect(reported.withLock { $0.sorted() } == odd.map { "setting \($0.0)" }.sorted())
            }
        }
    }

    @Test func changesNothingAfterShutDown() async throws {
        try await DownloaderRig.runManyFiles(configure: { $0.storage.remembersSettings = true }) { rig async throws in
            await rig.downloader.shutDown()
            let error = await #expect(throws: DownloadError.self) { try await rig.downloader.update(Self.change) }
            #expect(error?.code == .shutDown)
            #expect(await rig.downloader.configuration.changes(from: rig.configuration) == [])
            #expect(await rig.downloader.limiter.bytesPerSecond == nil)
            #expect(await rig.downloader.presentTimetable == nil)
            #expect(await !rig.downloader.watchesNetwork)
            try await rig.another { next async throws in
                #expect(await next.configuration.changes(from: rig.configuration) == [])
            }
        }
    }
}

extension Downloader {
    fileprivate var presentLimits: DownloadQueue.Limits { scheduler.queue.limits }
    fileprivate func machineSettings(_ id: DownloadID) -> DownloadMachine.Settings? { tasks[id]?.machine.settings }
}
