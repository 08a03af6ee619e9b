import Foundation
import HaulTesting
import Synchronization
import Testing

@testable import HaulCore
@testable import HaulKit

/// Servers that request Digest authentication (RFC 7616).
@Suite(.serialized, .timeLimit(.minutes(60)))
struct DigestFaultTests {
    private let content = TestContent.first

    /// Admits requests that answer its challenge with a nonce count that is new.
    private final class Guard: Sendable {
        private let counts = Mutex<[String: Set<String>]>([:])
        let challenge: @Sendable (Int) -> String
        let password: String

        init(password: String = "p ä:ss", _ challenge: @escaping @Sendable (Int) -> String) {
            self.challenge = challenge
            self.password = password
        }

        func admits(_ request: TestRequest) -> Bool {
            guard let field = request["Authorization"], field.hasPrefix("Digest ") else { return false }
            let said = AuthenticationChallenge.read([field]).first?.parameters ?? [:]
            let offered = (0..<9).compactMap { DigestChallenge.best(of: AuthenticationChallenge.read([challenge($0)])) }
            guard let nonce = said["nonce"], let count = said["nc"], let cnonce = said["cnonce"],
                said["uri"] == request.target, let known = offered.first(where: { $0.nonce == nonce })
            else { return false }
            let right = known.authorization(
                Credentials("user:\(password)"),
                method: "GET",
                target: request.target,
                count: Int(count, radix: 16) ?? 0,
                clientNonce: cnonce
            )
            let isNew = counts.withLock { $0[nonce, default: []].insert(count).inserted }
            return isNew && right == field
        }
    }

    private func url(_ rig: DownloaderRig, _ path: String = "/dir/file.bin?q=a%20b") -> String {
        rig.server.url(path).replacingOccurrences(of: "http://", with: "http://user:p%20%C3%A4%3Ass@")
    }

    private func handler(_ gate: Guard) -> DownloaderRig.Handler {
        let resource = content.resource()
        return { request in
            if gate.admits(request) { return resource.reply(to: request) }
            return .empty(401, "Unauthorized", headers: [("WWW-Authenticate", gate.challenge(0))])
        }
    }

    @Test(arguments: [
        "Digest realm=\"r\", qop=\"auth\", nonce=\"n\", opaque=\"o\"",
        "Digest realm=\"r\", qop=\"auth-int,auth\", algorithm=SHA-256, nonce=\"n\"",
        "Digest realm=\"a \\\"b\\\"\", qop=auth, algorithm=MD5-sess, nonce=n",
        "Digest realm=\"r\", qop=\"auth\", algorithm=SHA-256-sess, nonce=n, userhash=true",
        "Basic realm=\"r\", Digest realm=\"r\", qop=\"auth\", nonce=\"n\"",
    ])
    func answersAChallenge(_ challenge: String) async throws {
        try await DownloaderRig.run(serving: handler(Guard { _ in challenge })) { rig in
            try await rig.download(try rig.request(url: url(rig)))
            #expect(try rig.holdsOnly(content))
            #expect(rig.server.requests.count == 2)
        }
    }

    @Test func answersUnaskedFromThenOnAndNeverInTheClear() async throws {
        let gate = Guard { _ in "Digest realm=\"r\", qop=\"auth\", nonce=\"n\"" }
        try await DownloaderRig.run(serving: handler(gate)) { rig in
            for name in ["a", "b", "c"] {
                let request = try rig.request(url: url(rig, "/\(name)")) {
                    $0.destination = .file(path: "\(rig.folder)/\(name)")
                }
                try await rig.download(request)
            }
            let said = rig.server.requests.map { $0["Authorization"]?.prefix(6) }
            #expect(said == ["Basic ", "Digest", "Digest", "Digest"])
        }
    }

    @Test func answersOverManyConnections() async throws {
        let large = TestContent(seed: 3, count: 4_000_000)
        var resource = large.resource()
        resource.bytesPerSecond = 2_000_000
        let slow = resource
        let gate = Guard { _ in "Digest realm=\"r\", qop=\"auth\", nonce=\"n\"" }
        try await DownloaderRig.run(
            configure: {
                $0.connections.maxPerDownload = 4
                $0.connections.initial = 4
            },
            serving: { request in
                gate.admits(request)
                    ? slow.reply(to: request)
                    : .empty(401, "Unauthorized", headers: [("WWW-Authenticate", gate.challenge(0))])
            }
        ) { rig in
            try await rig.download(try rig.request(url: url(rig)))
            #expect(try rig.holdsOnly(large))
            #expect(rig.server.requests.count { $0["Authorization"]?.hasPrefix("Basic") == true } == 1)
        }
    }

    @Test func takesANewNonceWhereTheOldOneIsStale() async throws {
        let gate = Guard { "Digest realm=\"r\", qop=\"auth\", nonce=\"n\($0)\"" }
        let resource = content.resource()
        try await DownloaderRig.run(serving: { request in
            let isOld = request["Authorization"]?.contains("nonce=\"n0\"") == true && request.requestNumber > 2
            if !isOld, gate.admits(request) { return resource.reply(to: request) }
            let challenge = isOld ? gate.challenge(1) + ", stale=true" : gate.challenge(0)
            return .empty(401, "Unauthorized", headers: [("WWW-Authenticate", challenge)])
        }) { rig in
            try await rig.download(try rig.request(url: url(rig)))
            let second = try rig.request(url: url(rig, "/b")) { $0.destination = .file(path: rig.folder + "/b") }
            try await rig.download(second)
            #expect(rig.server.requests.count == 4)
        }
    }

    @Test func failsOfAWrongPasswordAtOnce() async throws {
        let gate = Guard(password: "other") { "Digest realm=\"r\", qop=\"auth\", nonce=\"n\($0)\"" }
        try await DownloaderRig.run(serving: handler(gate)) { rig async throws in
            #expect(try await rig.failure(of: try rig.request(url: url(rig))).status == 401)
            #expect(rig.server.requests.count == 2)
        }
    }

    @Test func endsWhereAServerWantsANewNonceForEver() async throws {
        try await DownloaderRig.run(serving: { request in
            let challenge = "Digest realm=\"r\", qop=\"auth\", nonce=\"n\(request.requestNumber)\", stale=true"
            return .empty(401, "Unauthorized", headers: [("WWW-Authenticate", challenge)])
        }) { rig async throws in
            #expect(try await rig.failure(of: try rig.request(url: url(rig))).status == 401)
            #expect(rig.server.requests.count <= 5)
        }
    }

    @Test func answersNoOtherOrigin() async throws {
        let challenge = ("WWW-Authenticate", "Digest realm=\"r\", qop=\"auth\", nonce=\"n\"")
        try await DownloaderRig.run(
            others: [{ _ in .empty(401, "Unauthorized", headers: [challenge]) }],
            serving: { _, others in .redirect(to: others[0].url("/x")) }
        ) { rig async throws in
            _ = try await rig.failure(of: try rig.request(url: url(rig)))
            let requests = rig.others[0].requests
            #expect(!requests.isEmpty && requests.allSatisfy { $0["Authorization"] == nil })
        }
    }

    @Test func saysNothingMoreWhereTheDigestIsOfAnUnknownKind() async throws {
        let handler: DownloaderRig.Handler = { _ in
            .empty(
                401,
                "Unauthorized",
                headers: [("WWW-Authenticate", "Digest realm=r, nonce=n, algorithm=SHA-512-256")]
            )
        }
        try await DownloaderRig.run(serving: handler) { rig async throws in
            for _ in 0..<2 { #expect(try await rig.failure(of: try rig.request(url: url(rig))).status == 401) }
            #expect(rig.server.requests.map { $0["Authorization"] == nil } == [false, true])
        }
    }

    @Test func takesTheWordsOfNetrc() async throws {
        let gate = Guard { _ in "Digest realm=\"r\", qop=\"auth\", nonce=\"n\"" }
        try await DownloaderRig.run(
            configure: { $0.network.netrc = Netrc("machine 127.0.0.1 login user password \"p ä:ss\"") },
            serving: handler(gate)
        ) { rig in
            try await rig.download("/dir/a")
            #expect(try rig.holdsOnly(content))
        }
    }
}
