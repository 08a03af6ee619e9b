import Foundation
import HaulTesting
import Synchronization
import Testing

@testable import HaulCore
@testable import HaulKit

/// Connections that a server closes after an answer, just as the next request arrives (RFC 9112 §9.3.1).
@Suite(.serialized, .timeLimit(.minutes(60)))
struct KeptConnectionFaultTests {
    private let content = TestContent.first

    /// Answers the first request of each connection, and performs `end` at the next one.
    private func once(_ end: TestStep, then later: @escaping DownloaderRig.Handler) -> DownloaderRig.Handler {
        let used = Counter()
        return { request in used.firstTime(request.connectionNumber) ? later(request) : TestReply([end]) }
    }

    private final class Counter: Sendable {
        private let seen = Mutex<Set<Int>>([])
        func firstTime(_ number: Int) -> Bool { seen.withLock { $0.insert(number).inserted } }
    }

    @Test(arguments: [TestStep.close, .reset])
    func repeatsByItselfWhatAKeptConnectionDidNotAnswer(_ end: TestStep) async throws {
        let resource = content.resource()
        try await DownloaderRig.run(
            configure: {
                // Makes the first failed attempt the last.
                $0.retry.attempts = 1
                $0.retry.attemptsBeforeFirstAnswer = 1
                // Longer than a slow machine needs.
                $0.network.idleTimeout = .seconds(3600)
            },
            serving: once(end) { resource.reply(to: $0) }
        ) { rig in
            for name in ["a", "b", "c"] {
                try await rig.download("/\(name)") { $0.destination = .file(path: "\(rig.folder)/\(name)") }
            }
            #expect(rig.server.requests.count == 5)
        }
    }

    @Test func repeatsARedirectsTargetToo() async throws {
        let resource = content.resource()
        try await DownloaderRig.run(
            configure: {
                $0.retry.attempts = 1
                $0.network.idleTimeout = .seconds(3600)
            },
            serving: once(.close) { $0.path == "/there" ? resource.reply(to: $0) : .redirect(to: "/there") }
        ) { rig in
            try await rig.download()
            #expect(try rig.holdsOnly(content))
            #expect(rig.server.requests.map(\.path) == ["/file.bin", "/there", "/there"])
        }
    }

    @Test func countsAnAttemptWhereAFreshConnectionIsNotAnswered() async throws {
        let resource = content.resource()
        try await DownloaderRig.run(
            configure: {
                $0.retry.attemptsBeforeFirstAnswer = 3
                $0.network.idleTimeout = .seconds(3600)
            },
            serving: { $0.path == "/file.bin" ? resource.reply(to: $0) : TestReply([.close]) }
        ) { rig async throws in
            try await rig.download()
            let error = try await rig.failure("/never") { $0.destination = .file(path: rig.folder + "/never") }
            #expect(error.code == .connectionLost)
            // One request on the connection that the first file left, then three failed attempts and a last one.
            #expect(rig.server.requests.count == 6)
        }
    }

    @Test func takesNothingForAnAnswerThatCameBeforeTheQuestion() async throws {
        let resource = content.resource()
        let early = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
        try await DownloaderRig.run(
            configure: {
                $0.retry.attempts = 1
                $0.network.idleTimeout = .seconds(3600)
            },
            serving: { request in
                request.path == "/a"
                    ? TestReply([.raw(Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi\(early)".utf8))])
                    : resource.reply(to: request)
            }
        ) { rig in
            for round in 0..<8 {
                try await rig.download("/a") { $0.destination = .file(path: "\(rig.folder)/a\(round)") }
                try await rig.download("/b") { $0.destination = .file(path: "\(rig.folder)/b\(round)") }
                #expect(try rig.text(at: "\(rig.folder)/a\(round)") == "hi")
                #expect(try content.matches(fileAt: "\(rig.folder)/b\(round)"))
            }
        }
    }
}
