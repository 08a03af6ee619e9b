import Foundation
import HaulTesting
import Synchronization
import Testing

@testable import HaulCore
@testable import HaulKit

/// Delivering messages to a receiver that misbehaves.
@Suite(.timeLimit(.minutes(60)))
struct WebhookTests {
    /// Calls `test` with a runner that has one webhook, and with the server that receives its messages.
    private func run(
        tls: TestCertificate? = nil,
        binding: NetworkBinding? = nil,
        limits change: (inout HookLimits) -> Void = { _ in },
        receiving handler: @escaping @Sendable (TestRequest) -> TestReply,
        _ test: (HookRunner, TestServer) async throws -> Void
    ) async throws {
        let server = try await TestServer.start(tls: tls, handler: handler)
        let transport = try HTTPTransport(
            .init(
                connectTimeout: .seconds(3600),
                stallTimeout: .seconds(3600),
                proxies: .direct,
                netrc: nil,
                userAgent: "haul/test",
                binding: binding
            ),
            certificateAuthorities: tls?.certificatePath
        )
        var configuration = Downloader.Configuration(stateFolder: "/nowhere")
        configuration.hooks.limits.webhookRetry.base = .milliseconds(1)
        // Longer than a busy machine needs.
        configuration.hooks.limits.webhookTime = .seconds(3600)
        change(&configuration.hooks.limits)
        let url = try #require(URL(string: server.url("/hook?token=1").replacing("://", with: "://ada:pw@")))
        configuration.hooks.actions = [.webhook(url, secret: "secret", on: [.started, .completed, .allCompleted])]
        let runner = HookRunner(configuration, poster: transport, time: EngineClock(ContinuousClock()), seed: 1)
        var failure: (any Error)?
        do { try await test(runner, server) } catch { failure = error }
        await runner.finish(within: .zero)
        await transport.shutDown()
        await server.stop()
        if let failure { throw failure }
    }

    /// A machine whose downloads go through a VPN alone tells nobody else of them.
    @Test func connectsFromTheAddressThatDownloadsUse() async throws {
        try await run(binding: .localAddress("127.0.0.9"), receiving: { _ in .empty(204, "No Content") }) {
            runner,
            server in
            runner.tell(try .sample(.started))
            #expect(await runner.settleAtLast() == [])
            #expect(server.requests.map(\.remoteAddress) == ["127.0.0.9"])
        }
    }

    @Test func sendsNothingFromAnotherAddress() async throws {
        try await run(
            binding: .interface("nosuch0"),
            limits: { $0.finalRetryTime = .zero },
            receiving: { _ in .empty(204, "No Content") }
        ) { runner, server in
            runner.tell(try .sample(.started))
            _ = await runner.settleAtLast()
            #expect(server.requests.isEmpty)
        }
    }

    @Test func waitsAtLastNoLongerThanItsBoundForAReceiverThatAsksForMore() async throws {
        try await run(
            receiving: { _ in .empty(503, "Service Unavailable", headers: [("Retry-After", "86400")]) }
        ) { runner, server in
            for _ in 0..<3 { runner.tell(try .sample(.started)) }
            let lost = await runner.settleAtLast()
            #expect(lost == [UndeliveredMessages(receiver: "http://127.0.0.1:\(server.port)", count: 3)])
            // The answer to the first message showed that the receiver takes none.
            #expect(server.requests.count == 1)
        }
    }

    @Test func givesUpAtLastWhatIsWaitingAlready() async throws {
        try await run(
            limits: { $0.finalRetryTime = .zero },
            receiving: { _ in .empty(503, "Service Unavailable", headers: [("Retry-After", "86400")]) }
        ) { runner, server in
            runner.tell(try .sample(.started))
            while server.requests.isEmpty { await Task.yield() }
            #expect(await runner.settleAtLast().map(\.count) == [1])
        }
    }

    @Test func triesAgainAtLastWithinItsBound() async throws {
        try await run(
            // Longer than any machine takes for three attempts.
            limits: { $0.finalRetryTime = .seconds(86_400) },
            receiving: { $0.requestNumber < 3 ? .empty(503, "Service Unavailable") : .empty(200, "OK") }
        ) { runner, server in
            runner.tell(try .sample(.started))
            #expect(await runner.settleAtLast().isEmpty)
            #expect(server.requests.count == 3)
        }
    }

    @Test func bringsMessagesInOrderAndSigned() async throws {
        try await run(receiving: { _ in .empty(204, "No Content") }) { runner, server in
            let messages: [HookMessage] = [
                try .sample(.started), try .sample(.failed), try .sample(.completed), .all(completed: 1, failed: 0),
            ]
            for message in messages { runner.tell(message) }
            #expect(await runner.settle(within: .seconds(3600)))
            let requests = server.requests
            // The webhook is not subscribed to failures.
            #expect(requests.map { $0["Haul-Event"] } == ["started", "completed", "all-completed"])
            #expect(requests.map(\.body) == [messages[0], messages[2], messages[3]].map(\.json))
            #expect(Set(requests.map { $0["Haul-Delivery"] }).count == 3)
            for request in requests {
                #expect(request.method == "POST")
                #expect(request.target == "/hook?token=1")
                #expect(request["Content-Type"] == "application/json")
                #expect(request["User-Agent"] == "haul/test")
                #expect(request["Authorization"] == "Basic " + Data("ada:pw".utf8).base64EncodedString())
                let timestamp = try #require(request["Haul-Timestamp"])
                let signature = WebhookHeaders.signature(timestamp, request.body, secret: "secret")
                #expect(request["Haul-Signature"] == signature)
            }
        }
    }

    @Test func triesAgainWithTheSameDeliveryBeforeItGoesOn() async throws {
        try await run(receiving: { request in
            request.requestNumber <= 2
                ? .empty(503, "Service Unavailable", headers: [("Retry-After", "0")]) : .empty(200, "OK")
        }) { runner, server in
            runner.tell(try .sample(.started))
            runner.tell(try .sample(.completed))
            #expect(await runner.settle(within: .seconds(3600)))
            let requests = server.requests
            #expect(requests.map { $0["Haul-Event"] } == ["started", "started", "started", "completed"])
            #expect(Set(requests.prefix(3).map { $0["Haul-Delivery"] }).count == 1)
            #expect(Set(requests.prefix(3).map(\.body)).count == 1)
        }
    }

    @Test func asksAgainWhereNoAnswerComesInTime() async throws {
        try await run(
            limits: {
                $0.webhookTime = .milliseconds(200)
                // As many attempts as a busy machine may need.
                $0.webhookRetry.attempts = 1000
            },
            receiving: { $0.requestNumber == 1 ? TestReply([.stall]) : .empty(200, "OK") }
        ) { runner, server in
            runner.tell(try .sample(.started))
            runner.tell(try .sample(.completed))
            #expect(await runner.settle(within: .seconds(3600)))
            let events = server.requests.compactMap { $0["Haul-Event"] }
            #expect(events.filter { $0 == "started" }.count >= 2)
            #expect(events.last == "completed")
        }
    }

    @Test func takesTheHeadOfAnEndlessAnswerForTheAnswer() async throws {
        let head = TestStep.head(status: 200, reason: "OK", headers: [("Transfer-Encoding", "chunked")])
        let content = TestContent(seed: 1, count: 1 << 20)
        let reply = TestReply([head, .chunked(0..<content.count, of: content, terminated: false), .stall])
        try await run(receiving: { _ in reply }) { runner, server in
            runner.tell(try .sample(.started))
            #expect(await runner.settle(within: .seconds(3600)))
            #expect(server.requests.count == 1)
        }
    }

    @Test func followsNoRedirect() async throws {
        try await run(receiving: { _ in .redirect(to: "/elsewhere", status: 307) }) { runner, server in
            runner.tell(try .sample(.started))
            #expect(await runner.settle(within: .seconds(3600)))
            #expect(server.requests.map(\.path) == ["/hook"])
        }
    }

    @Test func trustsTheCertificatesThatTheDownloaderTrusts() async throws {
        try await run(tls: try .shared(), receiving: { _ in .empty(200, "OK") }) { runner, server in
            runner.tell(try .sample(.started))
            #expect(await runner.settle(within: .seconds(3600)))
            #expect(server.requests.count == 1)
        }
    }

    @Test func breaksOffWhatIsUnderWayWhenTheTimeIsUp() async throws {
        try await run(receiving: { _ in TestReply([.stall]) }) { runner, _ in
            runner.tell(try .sample(.started))
            #expect(await !runner.settle(within: .milliseconds(1)))
            await runner.finish(within: .zero)
            // Without `finish` the receiver would not answer until the time limit of the message.
            #expect(await runner.settle(within: .seconds(1800)))
        }
    }

    private final class ListeningNotifier: Notifier {
        let bodies = Mutex<[String]>([])
        func notify(title: String, body: String) async -> Bool {
            bodies.withLock { $0.append(body) }
            return true
        }
    }

    @Test func showsNoticesToWhoIsThere() async throws {
        let notifier = ListeningNotifier()
        var configuration = Downloader.Configuration(stateFolder: "/nowhere")
        configuration.hooks.actions = [.desktopNotification(on: [.completed])]
        configuration.hooks.notifier = notifier
        let runner = HookRunner(configuration, poster: nil, time: EngineClock(ContinuousClock()), seed: 1)
        for name in ["a", "b"] { runner.tell(try .sample(.completed) { $0.path = "/data/\(name)" }) }
        runner.tell(try .sample(.failed))
        #expect(await runner.settle(within: .seconds(3600)))
        #expect(notifier.bodies.withLock(\.self) == ["a", "b"])
    }
}
