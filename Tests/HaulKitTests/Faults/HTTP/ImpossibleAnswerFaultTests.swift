import Foundation
import HaulTesting
import Synchronization
import Testing

@testable import HaulCore
@testable import HaulKit

/// Answers that the HTTP stack considers impossible. None of them ends the process, whatever their source.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct ImpossibleAnswerFaultTests {
    private static let content = TestContent.first
    static let heads = [
        "HTTP/1.1 000 X\r\nContent-Length: 2\r\n\r\nhi", "HTTP/1.1 042 X\r\n\r\n", "HTTP/1.1 099 X\r\n\r\nhi",
        "HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nhi",
        "HTTP/1.1 100 X\r\nContent-Length: 2\r\n\r\nhiHTTP/1.1 050 X\r\n\r\n",
    ]

    @Test(arguments: heads)
    func refusesTheServersAnswer(_ text: String) async throws {
        try await DownloaderRig.run(serving: { _ in .raw(text) }) { rig async throws in
            #expect(try await rig.failure().code == .malformedResponse)
        }
    }

    @Test(arguments: heads)
    func refusesTheAnswerOfARedirectsTarget(_ text: String) async throws {
        try await DownloaderRig.run(serving: { $0.path == "/x" ? .raw(text) : .redirect(to: "/x") }) {
            rig async throws in
            #expect(try await rig.failure().code == .malformedResponse)
        }
    }

    @Test(arguments: heads)
    func survivesAMirrorsAnswer(_ text: String) async throws {
        var resource = Self.content.resource()
        resource.bytesPerSecond = 2_000_000
        let slow = resource
        try await DownloaderRig.run(
            configure: { $0.connections.maxPerDownload = 4 },
            serving: { slow.reply(to: $0) },
            mirrors: [{ _ in .raw(text) }]
        ) { rig in
            let mirrors = rig.mirrors.map { Metalink.Source(link($0.url("/file.bin"))) }
            try await rig.download { $0.mirrors = mirrors }
            #expect(try rig.holdsOnly(Self.content))
        }
    }

    @Test(arguments: heads)
    func survivesAWebhooksAnswer(_ text: String) async throws {
        let receiver = try await TestServer.start { _ in .raw(text) }
        let url = try #require(URL(string: receiver.url("/hook")))
        try await DownloaderRig.run(
            serving: Self.content.resource(),
            configure: { $0.hooks.shutDownTime = .zero }
        ) { rig in
            try await rig.downloader.update { $0.hooks.actions = [.webhook(url, on: [.completed])] }
            try await rig.download()
            while receiver.requests.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
            #expect(try rig.holdsOnly(Self.content))
        }
        await receiver.stop()
    }

    @Test(arguments: heads, [false, true])
    func refusesAProxysAnswer(_ text: String, isTunnel: Bool) async throws {
        let proxy = try await TestServer.start { _ in .raw(text) }
        let setting = try ProxySettings.Proxy(proxy.url(""))
        try await DownloaderRig.run(
            serving: Self.content.resource(),
            configure: { $0.network.proxies = ProxySettings(setting) }
        ) { rig async throws in
            let url = isTunnel ? "https://127.0.0.1:1/x" : rig.server.url("/file.bin")
            let error = try await rig.failure(of: try rig.request(url: url))
            #expect([.malformedResponse, .proxyFailed, .connectionLost].contains(error.code))
        }
        await proxy.stop()
    }

    /// A server sends arbitrary answers, also several in a row. Each download ends with a file or an error.
    @Test func survivesAnswersOfEveryShape() async throws {
        let words = [
            "HTTP/1.1 200 OK\r\n", "HTTP/1.1 100 Go on\r\n\r\n", "HTTP/1.1 000 X\r\n", "HTTP/1.1 204 N\r\n\r\n",
            "HTTP/1.1 206 P\r\n", "HTTP/1.1 302 F\r\nLocation: /y\r\n", "HTTP/1.1 304 N\r\n\r\n", "HTTP/1.0 200 OK\r\n",
            "HTTP/1.1 101 S\r\n", "Content-Length: 5\r\n", "Content-Length: 0\r\n\r\n",
            "Transfer-Encoding: chunked\r\n",
            "\r\n", "hello", "5\r\nhello\r\n", "0\r\n\r\n", "Connection: close\r\n", "HTTP/1.1 416 R\r\n\r\n", "\0",
            "Content-Range: bytes 0-4/5\r\n", "HTTP/1.1 401 U\r\nWWW-Authenticate: Digest\r\n",
            "PRI * HTTP/2.0\r\n\r\n",
        ]
        let replies = Mutex(HostileStrings(of: words, count: 600, upTo: 9, seed: 11).makeIterator())
        let handler: DownloaderRig.Handler = { _ in
            guard let text = replies.withLock({ $0.next() }) else { return .empty(404, "Done") }
            // Every second connection stays open after the answer.
            return text.utf8.count % 2 == 0 ? .raw(text) : TestReply([.raw(Array(text.utf8))])
        }
        try await DownloaderRig.run(
            configure: {
                $0.retry.attempts = 1
                $0.connections.stallTimeout = .milliseconds(300)
                $0.queue.maxConcurrentDownloads = 32
            },
            serving: handler
        ) { rig in
            await withTaskGroup { group in
                for number in 0..<200 {
                    group.addTask {
                        let request = try? rig.request("/\(number)") {
                            $0.destination = .file(path: rig.folder + "/\(number)")
                        }
                        guard let request else { return }
                        _ = try? await rig.download(request)
                    }
                }
            }
        }
    }
}
