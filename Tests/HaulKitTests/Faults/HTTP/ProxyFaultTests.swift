import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Downloads through a proxy.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct ProxyFaultTests {
    private let content = TestContent.first

    /// Calls `test` with a proxy between the downloader and the server.
    private func run(
        _ kind: TestProxy.Kind,
        secure: Bool = false,
        authorization: String? = nil,
        user: String = "",
        exceptions: [String] = [],
        serving handler: DownloaderRig.Handler? = nil,
        _ test: (DownloaderRig, TestProxy) async throws -> Void
    ) async throws {
        let proxy = try await TestProxy.start(kind, authorization: authorization)
        let certificate = secure ? try TestCertificate.shared() : nil
        let resource = content.resource()
        let setting = try ProxySettings.Proxy(proxy.url.replacingOccurrences(of: "://", with: "://" + user))
        try await DownloaderRig.run(
            tls: certificate,
            configure: { configuration in
                configuration.network.certificateAuthorities = certificate?.certificatePath
                configuration.network.proxies = ProxySettings(http: setting, https: setting, exceptions: exceptions)
            },
            serving: handler ?? { resource.reply(to: $0) }
        ) { try await test($0, proxy) }
        await proxy.stop()
    }

    private func basic(_ text: String) -> String { "Basic " + Data(text.utf8).base64EncodedString() }

    @Test func goesThroughAnHTTPProxyToAPlainServer() async throws {
        try await run(.http) { rig, proxy in
            try await rig.download()
            #expect(try rig.holdsOnly(content))
            #expect(proxy.entries.count == 1)
            #expect(proxy.entries.map(\.method) == ["GET"])
            #expect(proxy.entries.map(\.target) == [rig.server.url("/file.bin")])
        }
    }

    @Test func tunnelsTLSThroughAnHTTPProxy() async throws {
        try await run(.http, secure: true) { rig, proxy async throws in
            try await rig.download { $0.headers = [HeaderField("Authorization: Bearer secret")].compactMap { $0 } }
            #expect(try rig.holdsOnly(content))
            #expect(proxy.entries.map(\.method) == ["CONNECT"])
            #expect(proxy.entries.map(\.target) == ["localhost:\(rig.server.port)"])
            #expect(proxy.entries.map { $0["Authorization"] } == [nil])
        }
    }

    @Test(arguments: [true, false])
    func logsInToAnHTTPProxy(secure: Bool) async throws {
        try await run(.http, secure: secure, authorization: basic("me:secret"), user: "me:secret@") {
            rig,
            proxy async throws in
            try await rig.download()
            #expect(try rig.holdsOnly(content))
            #expect(proxy.entries.map { $0["Proxy-Authorization"] } == [basic("me:secret")])
            #expect(rig.server.requests.map { $0["Proxy-Authorization"] } == [nil])
        }
    }

    @Test(arguments: [true, false])
    func failsAtOnceWhenTheProxyWantsAPassword(secure: Bool) async throws {
        try await run(.http, secure: secure, authorization: basic("me:secret")) { rig, proxy async throws in
            #expect(try await rig.failure().code == .proxyFailed)
            #expect(proxy.entries.count == 1)
            #expect(rig.server.requests.isEmpty)
        }
    }

    @Test func failsWhenTheProxyCannotConnect() async throws {
        try await run(.http, secure: true) { rig, _ async throws in
            let request = try rig.request(url: "https://\(DownloaderRig.nobody)/file.bin")
            #expect(try await rig.failure(of: request).code == .proxyFailed)
        }
    }

    @Test(arguments: [true, false])
    func goesThroughASOCKSProxy(secure: Bool) async throws {
        try await run(.socks5, secure: secure) { rig, proxy async throws in
            try await rig.download()
            #expect(try rig.holdsOnly(content))
            #expect(proxy.entries.map(\.method) == ["SOCKS5"])
            #expect(proxy.entries.map(\.target) == ["\(secure ? "localhost" : "127.0.0.1"):\(rig.server.port)"])
        }
    }

    @Test func failsWhenASOCKSProxyCannotConnect() async throws {
        try await run(.socks5) { rig, _ async throws in
            let error = try await rig.failure(of: try rig.request(url: "http://\(DownloaderRig.nobody)/file.bin"))
            #expect(error.code == .proxyFailed && error.cause == "the server refuses connections")
        }
    }

    @Test func failsWhenTheProxyIsNotThere() async throws {
        let resource = content.resource()
        try await DownloaderRig.run(
            configure: {
                $0.network.proxies = ProxySettings(try ProxySettings.Proxy("http://\(DownloaderRig.nobody)"))
            },
            serving: { resource.reply(to: $0) }
        ) { rig async throws in
            let error = try await rig.failure()
            #expect(error.code == .proxyFailed && error.message.contains("http://\(DownloaderRig.nobody) refuses"))
            #expect(rig.server.requests.isEmpty)
        }
    }

    @Test(arguments: ["http", "socks5"], [true, false])
    func namesAProxyThatIsNotThereWithoutItsPassword(_ scheme: String, secure: Bool) async throws {
        let resource = content.resource()
        let user = scheme == "http" ? "me:secret@" : ""
        let certificate = secure ? try TestCertificate.shared() : nil
        try await DownloaderRig.run(
            tls: certificate,
            configure: {
                $0.network.certificateAuthorities = certificate?.certificatePath
                $0.network.proxies = ProxySettings(
                    try ProxySettings.Proxy("\(scheme)://\(user)\(DownloaderRig.nobody)")
                )
            },
            serving: { resource.reply(to: $0) }
        ) { rig async throws in
            let error = try await rig.failure()
            #expect(error.code == .proxyFailed)
            #expect(error.message.contains("\(scheme)://\(DownloaderRig.nobody)"))
            #expect(!error.description.contains("secret"))
        }
    }

    /// Replies of RFC 1928 §6. A failure to reach the server may pass, but a refusal or missing feature of the proxy
    /// does not.
    @Test(
        arguments: [
            (1, 3), (2, 1), (3, 3), (4, 3), (5, 3), (6, 3), (7, 1), (8, 1), (99, 3),
        ] as [(UInt8, Int)]
    )
    func triesAgainWhatASOCKSProxyMayDoLater(_ reply: UInt8, _ attempts: Int) async throws {
        let proxy = try await TestProxy.start(.socks5, reply: reply)
        let setting = try ProxySettings.Proxy(proxy.url)
        try await DownloaderRig.run(
            configure: { $0.network.proxies = ProxySettings(setting) },
            serving: { _ in .empty(404, "Not Found") }
        ) { rig in
            let error = try await rig.failure()
            #expect(error.code == .proxyFailed && error.message.contains(setting.description))
            #expect(error.cause?.contains("SOCKS") == false && error.cause?.contains("(") == false)
            #expect(proxy.entries.count == attempts)
            #expect(rig.server.requests.isEmpty)
        }
        await proxy.stop()
    }

    @Test(arguments: [TestProxy.Kind.http, .socks5], [true, false])
    func saysSoOfAServerThatIsNoSuchProxy(_ kind: TestProxy.Kind, secure: Bool) async throws {
        let proxy = try await TestProxy.start(kind, greeting: Array("SSH-2.0-OpenSSH_9.6\r\n\r\n".utf8))
        let setting = try ProxySettings.Proxy(proxy.url)
        let certificate = secure ? try TestCertificate.shared() : nil
        try await DownloaderRig.run(
            tls: certificate,
            configure: {
                $0.network.certificateAuthorities = certificate?.certificatePath
                $0.network.proxies = ProxySettings(setting)
            },
            serving: { _ in .empty(404, "Not Found") }
        ) { rig in
            let error = try await rig.failure()
            #expect(error.code == .proxyFailed && error.message.contains(setting.description), "\(error)")
        }
        await proxy.stop()
    }

    @Test func saysSoOfAPasswordThatAProxyRefuses() async throws {
        try await run(.http, authorization: basic("me:secret"), user: "me:wrong@") { rig, _ in
            let error = try await rig.failure()
            #expect(error.code == .proxyFailed && error.cause?.contains("refused the user name") == true)
            #expect(!error.description.contains("wrong"))
        }
    }

    @Test(arguments: [["127.0.0.1"], ["*"], ["example.org", "127.0.0.1"]])
    func goesRoundTheProxyForExceptedHosts(_ exceptions: [String]) async throws {
        try await run(.http, exceptions: exceptions) { rig, proxy async throws in
            try await rig.download()
            #expect(try rig.holdsOnly(content))
            #expect(proxy.entries.isEmpty)
        }
    }

    @Test func resumesThroughAProxy() async throws {
        try await run(.http, serving: content.resource().silentFirst()) { rig, proxy async throws in
            try await rig.interrupted()
            #expect(try rig.holdsOnly(content))
            #expect(rig.ranges == [nil, "bytes=\(cut)-"])
            #expect(proxy.entries.count == 2)
        }
    }

    @Test(arguments: ["http://127.0.0.1:0", "http://127.0.0.1:70000", "socks5://127.0.0.1:99999"])
    func refusesAProxyWhosePortDoesNotExist(_ text: String) {
        #expect(throws: DownloadError.self) { try ProxySettings.Proxy(text) }
    }
}
