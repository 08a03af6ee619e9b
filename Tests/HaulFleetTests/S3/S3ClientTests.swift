import Foundation
import HaulKit
import HaulTesting
import Logging
import Synchronization
import Testing

@testable import HaulFleet

/// Covers failure 18 of docs/fleet.md, and the limits on time and memory.
@Suite struct S3ClientTests {
    @Test(arguments: [-1200, 1200, 34_560_000] as [TimeInterval])
    func `A clock that is wrong is set right once by the store's date`(offset: TimeInterval) async throws {
        let rig = try await S3Rig(options: { $0.clock = { Date().addingTimeInterval(offset) } })
        let files = try (0..<3).map { try rig.file(Int64($0), "k\($0)", bytes: 5000) }
        for file in files {
            #expect(try await rig.destination.store(file)?.isPublished == true)
            #expect(try rig.holds(file))
        }
        #expect(rig.stub.requests.count < 40)
        await rig.stop()
    }

    @Test func `A clock that the store never accepts is an error in one sentence`() async throws {
        let rig = try await S3Rig()
        rig.stub.fault(.answer(S3Stub.error(403, "RequestTimeTooSkewed", headers: [("Date", "nonsense")])), times: 99) {
            _ in true
        }
        let error = try #require(try await rig.destination.store(try rig.file(1, "k", bytes: 10))?.error)
        #expect(error.message.contains("clock"))
        #expect(rig.stub.requests.count == 1)
        await rig.stop()
    }

    @Test func `Keys that expire while an object is sent are replaced, and its parts are signed again`() async throws {
        let source = RotatingCredentials()
        let rig = try await S3Rig(options: { $0.expiredTokens = ["token-1"] }, credentials: S3CredentialCache([source]))
        let file = try rig.file(1, "k", bytes: 9000)
        let prepared = try await rig.destination.prepare(file) { _ in
            // The second keys expire as well, before the first part is sent.
            rig.stub.with { _ = $0.options.expiredTokens.insert("token-2") }
            return true
        }
        #expect(await rig.destination.publish([prepared])[file.key]?.isPublished == true)
        #expect(try rig.holds(file))
        #expect(source.loads == 3)
        #expect(rig.stub.with { $0.signatureFaults } == [])
        await rig.stop()
    }

    @Test func `Keys that stay expired are an error in one sentence`() async throws {
        let keys = S3Credentials(accessKey: "AKID", secretKey: "the secret", sessionToken: "old")
        let rig = try await S3Rig(
            options: { $0.expiredTokens = ["old"] },
            credentials: S3CredentialCache([FixedCredentials(keys)])
        )
        let error = try #require(try await rig.destination.store(try rig.file(1, "k", bytes: 10))?.error)
        #expect(error.code == .destinationRefused && error.message.contains("expired"))
        #expect(error.blamesNoFile)
        #expect(!error.message.contains("old") || !error.message.contains("the secret"))
        #expect(rig.stub.requests.count == 1)
        await rig.stop()
    }

    @Test(arguments: ["AccessDenied", "InvalidAccessKeyId"])
    func `Keys that the store denies are read again once`(_ code: String) async throws {
        let source = RotatingCredentials()
        let rig = try await S3Rig(credentials: S3CredentialCache([source]))
        rig.stub.fault(.answer(S3Stub.error(403, code))) { _ in true }
        let file = try rig.file(1, "k", bytes: 10)
        #expect(try await rig.destination.store(file)?.isPublished == true)
        #expect(try rig.holds(file) && source.loads == 2)
        await rig.stop()
    }

    /// A credentials service that does not answer any more, and keys that the store does not know.
    @Test(arguments: [
        ("ExpiredToken", 1), ("InvalidAccessKeyId", .max), ("NoSuchBucket", .max), ("AccessDenied", .max),
    ])
    func `Failures that every file would have cost no file an attempt`(_ code: String, _ loads: Int) async throws {
        let rig = try await S3Rig(credentials: S3CredentialCache([EndingCredentials(loads)]))
        rig.stub.fault(.answer(S3Stub.error(403, code)), times: 99) { _ in true }
        let error = try #require(try await rig.destination.store(try rig.file(1, "k", bytes: 10))?.error)
        #expect(error.blamesNoFile == (code != "AccessDenied"), "\(error)")
        await rig.stop()
    }

    @Test func `The region of a bucket elsewhere is learnt from 301 without a location, and from 400`() async throws {
        let rig = try await S3Rig(options: { $0.region = "eu-west-3" })
        #expect(try await rig.destination.store(try rig.file(1, "a", bytes: 5000))?.isPublished == true)
        let other = try await S3Rig(options: { $0.region = "ap-south-1" })
        other.stub.fault(
            .answer(S3Stub.error(301, "PermanentRedirect", headers: [("x-amz-bucket-region", "ap-south-1")]))
        ) { _ in true }
        let file = try other.file(1, "b", bytes: 50)
        #expect(try await other.destination.store(file)?.isPublished == true)
        #expect(other.stub.requests.count == 2)
        await rig.stop()
        await other.stop()
    }

    @Test func `Each of many requests that meet the wrong region is sent again`() async throws {
        let rig = try await S3Rig(options: { $0.region = "eu-west-3" })
        let files = try (0..<40).map { try rig.file(Int64($0), "k\($0)", bytes: 50) }
        let outcomes = await rig.destination.publish(files.map { PreparedFile(file: $0) })
        #expect(outcomes.values.allSatisfy { $0.isPublished } && outcomes.count == 40)
        await rig.stop()
    }

    @Test func `A store that does not speak TLS, and one with a certificate of its own, are said to be so`()
        async throws
    {
        let plain = try await TestServer.start { _ in .empty(200, "OK") }
        let certificate = try TestCertificate.shared()
        let own = try await TestServer.start(tls: certificate) { _ in .empty(200, "OK") }
        for (server, words) in [(plain, "TLS"), (own, "certificate")] {
            let port = try #require(server.url("").split(separator: ":").last)
            let settings = S3Rig.settings("https://127.0.0.1:\(port.prefix { $0.isNumber })")
            let client = try S3Client(
                settings,
                credentials: S3CredentialCache([FixedCredentials(S3Rig.keys)]),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
            let failure = await #expect(throws: S3Failure.self) { try await client.headBucket() }
            let message = failure?.error.message ?? ""
            #expect(message.contains(words) && message.hasSuffix(".") && !message.contains("SSL"), "\(message)")
            #expect(failure?.error.blamesNoFile == true)
        }
        // With the certificate's file from the environment the store is trusted.
        let port = try #require(own.url("").split(separator: ":").last).prefix { $0.isNumber }
        var settings = try S3Settings("s3://bucket", environment: ["AWS_CA_BUNDLE": certificate.certificatePath])
        settings.endpoint = "https://127.0.0.1:\(port)"
        let client = try S3Client(
            settings,
            credentials: S3CredentialCache([FixedCredentials(S3Rig.keys)]),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        try await client.headBucket()
        await plain.stop()
        await own.stop()
        settings.certificateAuthorities = "/nowhere.pem"
        await expectError(.invalidInput) {
            _ = try S3Client(
                settings,
                credentials: S3CredentialCache([FixedCredentials(S3Rig.keys)]),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
        }
    }

    /// The test listens but accepts no connection. The kernel completes the handshakes, and no program reads from the
    /// sockets.
    @Test func `A store that stops reading a body is given up`() async throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(listener) }
        var address = sockaddr_in()
        (address.sin_family, address.sin_addr.s_addr) = (sa_family_t(AF_INET), UInt32(0x7F00_0001).bigEndian)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let port =
            withUnsafeMutablePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                    bind(listener, pointer, size) == 0 && listen(listener, 16) == 0
                        && getsockname(listener, pointer, &size) == 0
                }
            } ? UInt16(bigEndian: address.sin_port) : 0
        try #require(port != 0)
        var settings = S3Rig.settings("http://127.0.0.1:\(port)")
        (settings.idleTimeout, settings.attempts) = (.milliseconds(500), 2)
        let folder = try TemporaryFolder()
        // The file is larger than the socket buffers.
        let content = folder("large")
        #expect(FileManager.default.createFile(atPath: content, contents: nil))
        #expect(truncate(content, 64 << 20) == 0)
        let client = try S3Client(
            settings,
            credentials: S3CredentialCache([FixedCredentials(S3Rig.keys)]),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        let region = FileRegion(path: content, range: 0..<(64 << 20))
        let failure = await #expect(throws: S3Failure.self) {
            let digest = try await region.digests(withMD5: false)
            _ = try await client.put("k", .region(region, digest: digest), metadata: [], replaces: true)
        }
        #expect(failure?.error.message.contains("nothing came or went") == true, "\(failure?.error.message ?? "")")
    }

    @Test func `A redirect within the store is followed with a new signature, at most twice`() async throws {
        let rig = try await S3Rig()
        let port = rig.stub.server.port
        func redirect(_ path: String) -> TestReply {
            S3Stub.error(307, "TemporaryRedirect", headers: [("Location", "http://127.0.0.1:\(port)\(path)")])
        }
        rig.stub.fault(.answer(redirect("/bucket/elsewhere"))) { $0.target == "/bucket/k" }
        #expect(try await rig.destination.store(try rig.file(1, "k", bytes: 10))?.isPublished == true)
        #expect(rig.stub.objects.keys.sorted() == ["elsewhere"])
        rig.stub.fault(.answer(redirect("/bucket/loop")), times: 100) { _ in true }
        let error = try #require(try await rig.destination.store(try rig.file(2, "l", bytes: 10))?.error)
        #expect(error.code == .destinationRefused)
        #expect(rig.stub.requests.count == 2 + 3)
        #expect(rig.stub.with { $0.signatureFaults } == [])
        await rig.stop()
    }

    @Test func `No request goes to a host outside the endpoint, whatever a redirect says`() async throws {
        let rig = try await S3Rig()
        let port = rig.stub.server.port
        // The foreign store has the same port at another address, so only the host differs.
        let foreign = try await S3Stub.start(host: "127.0.0.2", port: port)
        let locations = [
            "http://127.0.0.2:\(port)/bucket/k", "http://127.0.0.1.evil.example/bucket/k",
            "https://127.0.0.1:\(port)/bucket/k",
            "http://127.0.0.1:\(port + 1)/bucket/k", "//127.0.0.2:\(port)/bucket/k",
            "http://127.0.0.1@127.0.0.2:\(port)/bucket/k", "",
            "nonsense", "/..%00",
        ]
        for status in [301, 302, 303, 307, 308] {
            for location in locations {
                rig.stub.fault(.answer(S3Stub.error(status, "", headers: [("Location", location)])), times: 3) { _ in
                    true
                }
                let error = try await rig.destination.store(try rig.file(1, "k", bytes: 10))?.error
                #expect(error?.code == .destinationRefused, "\(status) \(location)")
                rig.stub.with { $0.faults = [] }
            }
        }
        #expect(foreign.requests.isEmpty)
        #expect(rig.stub.objects.isEmpty)
        // A region is used in a host name or a signature only if it has the form of a region.
        rig.stub.fault(.answer(S3Stub.error(301, "X", headers: [("x-amz-bucket-region", "evil.example/")]))) { _ in true
        }
        #expect(try await rig.destination.store(try rig.file(1, "k", bytes: 10))?.error != nil)
        await rig.stop()
        await foreign.stop()
    }

    @Test(arguments: [
        "silence", "silent body", "endless body", "closes", "garbage", "truncated list", "huge head", "drips",
    ])
    func `A store that does not answer as it should is given up in bounded time and memory`(kind: String) async throws {
        let head = TestStep.head(status: 200, reason: "OK", headers: [("Content-Length", "100000")])
        let endless = TestContent(seed: 1, count: 1 << 40)
        let reply: TestReply =
            switch kind {
            case "silence": TestReply([.stall])
            case "silent body": TestReply([head, .raw([1, 2, 3]), .stall])
            case "endless body":
                TestReply([
                    .head(status: 200, reason: "OK", headers: [("Transfer-Encoding", "chunked")]),
                    .chunked(0..<(1 << 40), of: endless, terminated: false),
                ])
            case "closes": TestReply([head, .raw([1, 2, 3]), .close])
            case "garbage": TestReply([.raw(Array("\u{0}\u{1}SSH-2.0-x\r\n\r\n".utf8)), .close])
            case "huge head":
                TestReply([.raw(Array("HTTP/1.1 200 OK\r\nX: \(String(repeating: "y", count: 1 << 20))\r\n\r\n".utf8))])
            case "drips":
                TestReply([.raw(Array("HTTP/1.1 200".utf8)), .wait(.milliseconds(50)), .raw(Array(" OK".utf8)), .stall])
            default: S3Stub.document(200, "<ListPartsResult><Part><PartNumber>1</PartNumber>")
            }
        let rig = try await S3Rig(settings: {
            $0.idleTimeout = .milliseconds(300)
            $0.attempts = 2
        })
        rig.stub.fault(.answer(reply), times: 100) { _ in true }
        let failure = await #expect(throws: S3Failure.self) {
            _ = try await rig.destination.client.parts("k", upload: "u")
        }
        #expect(failure?.error.isRetryable == true, "\(failure.map { "\($0.error)" } ?? "")")
        #expect(failure?.error.message.hasSuffix(".") == true)
        rig.stub.with { $0.faults = [] }
        // The store answers the same client again. On a busy machine the limit of 0.3 s may be too short, so the test
        // tries 50 times.
        let file = try rig.file(1, "after", bytes: 10)
        var isPublished = false
        for _ in 0..<50 where !isPublished { isPublished = try await rig.destination.store(file)?.isPublished == true }
        #expect(isPublished)
        await rig.stop()
    }

    @Test func `A list of parts that leads in a circle ends`() async throws {
        let rig = try await S3Rig()
        let page =
            "<ListPartsResult><IsTruncated>true</IsTruncated><NextPartNumberMarker>5</NextPartNumberMarker></ListPartsResult>"
        rig.stub.fault(.answer(S3Stub.document(200, page)), times: 1000) { _ in true }
        await #expect(throws: S3Failure.self) { _ = try await rig.destination.client.parts("k", upload: "u") }
        #expect(rig.stub.requests.count == 2)
        await rig.stop()
    }

    @Test func `Of 10,000 parts in pages of 1,000 all are found`() async throws {
        let rig = try await S3Rig()
        rig.stub.with { state in
            var upload = S3Stub.Upload(key: "k", metadata: [:], keepsChecksums: false)
            for number in 1...10_000 { upload.parts[number] = .init(bytes: [1], tag: "t\(number)", sha256: nil) }
            state.uploads["u"] = upload
        }
        let parts = try await rig.destination.client.parts("k", upload: "u")
        #expect(parts.count == 10_000)
        #expect(parts[10_000]?.tag == "t10000")
        #expect(rig.stub.requests.count == 10)
        await rig.stop()
    }

    @Test func `A store that is not there, and a cancelled call, end with an error`() async throws {
        let rig = try await S3Rig()
        let file = try rig.file(1, "k", bytes: 5000)
        rig.stub.fault(.answer(TestReply([.stall])), times: 100) { _ in true }
        let call = Task { try await rig.destination.store(file) }
        while rig.stub.requests.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
        call.cancel()
        await #expect(throws: FleetError.self) { _ = try await call.value }
        await rig.stop()
        let error = await #expect(throws: FleetError.self) { try await rig.destination.check() }
        #expect(error?.isRetryable == true)
        #expect(error?.message.contains("Connection refused") == true, "\(error?.message ?? "")")
    }

    @Test func `No more requests than allowed are under way, and a store that asks for fewer stops all of them`()
        async throws
    {
        let pacer = RequestPacer(
            connections: 3,
            backoff: Backoff(base: .milliseconds(80), cap: .milliseconds(80), jitter: .part(2))
        )
        let running = RunningCount()
        await withTaskGroup { group in
            for number in 0..<60 {
                group.addTask {
                    do { try await pacer.enter() } catch { return }
                    running.change(by: 1)
                    await Task.yield()
                    if number == 30 { await pacer.slowDown() }
                    running.change(by: -1)
                    await pacer.leave()
                }
                if number % 7 == 0 {
                    group.addTask {
                        let call = Task {
                            try await pacer.enter()
                            await pacer.leave()
                        }
                        call.cancel()
                        _ = await call.result
                    }
                }
            }
        }
        #expect((1...3).contains(running.most))
        await pacer.slowDown()
        let start = ContinuousClock.now
        try await pacer.enter()
        #expect(ContinuousClock.now - start >= .milliseconds(39))
        await pacer.leave()
    }
}

/// Returns new keys with each load.
/// A source that answers only a few times.
final class EndingCredentials: S3CredentialSource {
    private let rest: Mutex<Int>

    init(_ answers: Int) { rest = Mutex(answers) }

    func load() throws(FleetError) -> S3Credentials? {
        let isAnswering = rest.withLock { rest in
            defer { rest -= 1 }
            return rest > 0
        }
        guard isAnswering else { throw FleetError(.destinationUnreachable, "The source of the keys does not answer.") }
        return S3Rig.keys
    }
}

final class RotatingCredentials: S3CredentialSource {
    private let count = Mutex(0)

    var loads: Int { count.withLock { $0 } }

    func load() throws(FleetError) -> S3Credentials? {
        let number = count.withLock { count -> Int in
            count += 1
            return count
        }
        return S3Credentials(accessKey: "AKID", secretKey: "the secret", sessionToken: "token-\(number)")
    }
}

final class RunningCount: Sendable {
    private let counts = Mutex((now: 0, most: 0))

    var most: Int { counts.withLock { $0.most } }

    func change(by count: Int) {
        counts.withLock {
            $0.now += count
            $0.most = max($0.most, $0.now)
        }
    }
}
