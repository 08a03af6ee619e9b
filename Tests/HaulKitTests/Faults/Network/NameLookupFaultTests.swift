import Dispatch
import Foundation
import HaulTesting
import Synchronization
import Testing

@testable import HaulCore
@testable import HaulKit

/// Downloads from hosts on loopback, some of whose names no DNS server answers for.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct NameLookupFaultTests {
    private let content = TestContent.first

    /// Calls `test` with a downloader that looks up names with `lookUp`.
    private func run(
        tls: TestCertificate? = nil,
        looking lookUp: @escaping NameResolver.Lookup,
        proxies: ProxySettings = .direct,
        connectTimeout: Duration = .seconds(3600),
        serving handler: @escaping DownloaderRig.Handler,
        _ test: (Downloader, TestServer, String) async throws -> Void
    ) async throws {
        try await TemporaryFolder.with { folder in
            try folder.makeFolder("downloads")
            var configuration = DownloaderRig.quick(stateFolder: folder("state"))
            configuration.queue.maxConcurrentDownloads = 50
            let server = try await TestServer.start(tls: tls, handler: handler)
            let transport = try HTTPTransport(
                .init(
                    connectTimeout: connectTimeout,
                    stallTimeout: .seconds(3600),
                    proxies: proxies,
                    netrc: nil,
                    userAgent: "haul/test",
                    names: NameResolver(lookUp: lookUp)
                ),
                certificateAuthorities: tls?.certificatePath
            )
            let disk = PosixDisk()
            let downloader = try await Downloader(
                configuration,
                readers: SourceReaders(transport),
                disk: disk,
                store: try DownloadStore(
                    folder: folder("state"),
                    name: "default",
                    isExclusive: false,
                    bootID: disk.bootID
                ),
                time: EngineClock(ContinuousClock()),
                seed: 1
            )
            var failure: (any Error)?
            do { try await test(downloader, server, folder("downloads")) } catch { failure = error }
            await downloader.shutDown()
            await server.stop()
            if let failure { throw failure }
        }
    }

    private final class SilentServers: Sendable {
        private let silence = DispatchSemaphore(value: 0)
        private let waiting = Mutex(0)
        let asked = CallCounter()

        @Sendable func lookUp(_ name: String) -> Result<[ResolvedAddress], TransportError> {
            asked.next()
            if name.hasPrefix("silent") {
                waiting.withLock { $0 += 1 }
                silence.wait()
                return .failure(TransportError(.nameNotResolved))
            }
            return .success([ResolvedAddress("127.0.0.1")])
        }

        func speak() { for _ in 0..<waiting.withLock({ $0 }) { silence.signal() } }
    }

    @Test func goodNamesAreServedBesideSilentOnes() async throws {
        let names = SilentServers()
        defer { names.speak() }
        let resource = content.resource()
        try await run(looking: names.lookUp, serving: { resource.reply(to: $0) }) { downloader, server, folder in
            for number in 0..<10 {
                _ = try await downloader.download("http://silent\(number).example:\(server.port)/bad", to: folder)
            }
            for number in 0..<5 {
                let url = "http://good\(number).example:\(server.port)/\(number).bin"
                let done = try await downloader.download(url, to: folder).result()
                #expect(try content.matches(fileAt: done.path))
            }
            #expect(
                Set(server.requests.compactMap { $0["Host"] })
                    == Set((0..<5).map { "good\($0).example:\(server.port)" })
            )
        }
    }

    @Test func aSilentNameFailsAfterTheTimeForConnecting() async throws {
        let names = SilentServers()
        defer { names.speak() }
        try await run(
            looking: names.lookUp,
            connectTimeout: .milliseconds(50),
            serving: { _ in .empty(404, "Not Found") }
        ) { downloader, server, folder in
            let error = await #expect(throws: DownloadError.self) {
                try await downloader.download("http://silent.example:\(server.port)/bad", to: folder).result()
            }
            #expect(error?.code == .timedOut)
            // The second attempt joined the lookup of the first one.
            #expect(names.asked.value == 1)
        }
    }

    @Test func certificatesAreOfTheNameAndNotOfTheAddress() async throws {
        let names = SilentServers()
        let certificate = try TestCertificate.make(names: "DNS:good.example")
        let resource = content.resource()
        try await run(tls: certificate, looking: names.lookUp, serving: { resource.reply(to: $0) }) {
            downloader,
            server,
            folder in
            let done = try await downloader.download("https://good.example:\(server.port)/f.bin", to: folder).result()
            #expect(try content.matches(fileAt: done.path))
            #expect(server.requests.first?["Host"] == "good.example:\(server.port)")
            let error = await #expect(throws: DownloadError.self) {
                try await downloader.download("https://other.example:\(server.port)/g.bin", to: folder).result()
            }
            #expect(error?.code == .tlsFailed)
        }
    }

    @Test func anotherAddressIsTriedWhereTheFirstRefuses() async throws {
        let resource = content.resource()
        let asked = CallCounter()
        let lookUp: NameResolver.Lookup = { _ in
            asked.next()
            // Nothing listens at the first address, because test servers listen on 127.0.0.1 only.
            return .success(["127.0.0.9", "127.0.0.1"].map(ResolvedAddress.init))
        }
        try await run(looking: lookUp, serving: { resource.reply(to: $0) }) { downloader, server, folder in
            for number in 0..<3 {
                let url = "http://two.example:\(server.port)/\(number).bin"
                let done = try await downloader.download(url, to: folder).result()
                #expect(try content.matches(fileAt: done.path))
            }
            #expect(asked.value == 1)
            // All requests used one connection, because the resolver prefers the address that has served.
            #expect(Set(server.requests.map(\.connectionNumber)).count == 1)
        }
    }

    @Test func theNameOfAProxyIsLookedUpAndThatOfTheServerIsNot() async throws {
        let resource = content.resource()
        let looked = Mutex<Set<String>>([])
        let proxy = try await TestProxy.start(.http)
        let settings = ProxySettings(try .init("http://proxy.example:\(proxy.port)"))
        try await run(
            looking: { name in
                looked.withLock { _ = $0.insert(name) }
                return .success([ResolvedAddress("127.0.0.1")])
            },
            proxies: settings,
            serving: { resource.reply(to: $0) }
        ) { downloader, server, folder in
            _ = try await downloader.download("http://127.0.0.1:\(server.port)/f.bin", to: folder).result()
            #expect(looked.withLock(\.self) == ["proxy.example"])
        }
        await proxy.stop()
    }

    @Test func cancelsAtOnceWhileItsNameIsLookedUp() async throws {
        let names = SilentServers()
        defer { names.speak() }
        try await run(looking: names.lookUp, serving: { _ in .empty(404, "Not Found") }) { downloader, server, folder in
            let download = try await downloader.download("http://silent.example:\(server.port)/f", to: folder)
            while names.asked.value == 0 { await Task.yield() }
            try await download.cancel()
            #expect(download.snapshot.state == .cancelled)
        }
    }
}
