import Foundation
import HaulTesting
import Synchronization
import Testing

@testable import HaulFleet

/// Covers failures 17 and 18 of docs/fleet.md, and other failures of a store.
@Suite struct S3FaultTests {
    private static let lateError = S3Stub.document(
        200,
        "  <?xml version=\"1.0\"?><Error><Code>InternalError</Code><Message>We encountered an internal error.</Message></Error>"
    )

    /// Covers failure 17 of docs/fleet.md.
    @Test func `A completion that answers 200 with an error, then 503, then loses its reply makes one correct object`()
        async throws
    {
        let rig = try await S3Rig()
        let file = try rig.file(1, "large", bytes: 5000)
        rig.stub.fault(.answer(Self.lateError)) { $0.isComplete }
        rig.stub.fault(.answer(S3Stub.error(503, "SlowDown"))) { $0.isComplete }
        rig.stub.fault(.loseReply) { $0.isComplete }
        #expect(try await rig.destination.store(file) == .published(tag: "composite-5"))
        #expect(try rig.holds(file))
        #expect(rig.stub.objects.count == 1)
        #expect(rig.stub.uploads.isEmpty)
        #expect(rig.stub.requests.filter(\.isComplete).count == 4)
        #expect(rig.stub.with { $0.signatureFaults } == [])
        await rig.stop()
    }

    @Test(arguments: ["create", "part", "complete", "put", "head", "list", "abort"])
    func `A reply that is lost after its effect does no harm`(operation: String) async throws {
        let rig = try await S3Rig()
        for times in 1...3 {
            rig.stub.fault(.loseReply, times: times) { request in
                switch operation {
                case "create": request.isCreate
                case "part": request.isPart
                case "complete": request.isComplete
                case "put": request.isPut
                case "head": request.method == "HEAD"
                case "list": request.method == "GET"
                default: request.method == "DELETE"
                }
            }
            let large = try rig.file(Int64(times), "large\(times)", bytes: 5000)
            let small = try rig.file(Int64(times), "small\(times)", bytes: 50, epoch: 2)
            #expect(try await rig.destination.store(large)?.isPublished == true)
            #expect(try await rig.destination.store(small)?.isPublished == true)
            #expect(try rig.holds(large))
            #expect(try rig.holds(small))
            #expect(rig.stub.uploads.isEmpty)
        }
        await rig.stop()
    }

    @Test(arguments: [
        (500, "InternalError"), (503, "SlowDown"), (503, "ServiceUnavailable"), (429, "TooManyRequests"),
        (400, "RequestTimeout"),
        (400, "BadDigest"), (502, ""), (504, ""), (400, "IncompleteBody"), (408, ""), (425, ""), (499, ""), (520, ""),
    ])
    func `A passing failure is tried again, each time with a signature of its own`(status: Int, code: String)
        async throws
    {
        let rig = try await S3Rig()
        rig.stub.fault(.answer(S3Stub.error(status, code)), times: 2) { $0.isPart }
        rig.stub.fault(.answer(S3Stub.error(status, code)), times: 2) { $0.isPut }
        for bytes in [5000, 50] {
            let file = try rig.file(Int64(bytes), "key\(bytes)", bytes: bytes)
            #expect(try await rig.destination.store(file)?.isPublished == true)
            #expect(try rig.holds(file))
        }
        #expect(rig.stub.with { $0.signatureFaults } == [])
        await rig.stop()
    }

    @Test(arguments: [
        ("InvalidAccessKeyId", 403, "access key"), ("SignatureDoesNotMatch", 403, "secret key"),
        ("NoSuchBucket", 404, "no bucket"),
        ("AccessDenied", 403, "denies access"), ("QuotaExceeded", 403, "quota"), ("InsufficientStorage", 507, "quota"),
        ("EntityTooLarge", 400, "larger"), ("MethodNotAllowed", 405, "405 MethodNotAllowed"),
    ])
    func `What does not pass is not tried again, and said in one sentence`(code: String, status: Int, words: String)
        async throws
    {
        let rig = try await S3Rig(verifies: false)
        rig.stub.fault(.answer(S3Stub.error(status, code)), times: 100) { $0.isPut }
        let error = try #require(try await rig.destination.store(try rig.file(1, "k", bytes: 10))?.error)
        #expect(error.code == .destinationRefused)
        #expect(error.message.contains(words), "\(error.message)")
        #expect(error.message.hasSuffix("."))
        #expect(rig.stub.requests.count == 1)
        await rig.stop()
    }

    @Test func `A store that is overloaded for ever is an error that says so and can be tried later`() async throws {
        let rig = try await S3Rig()
        rig.stub.fault(.answer(S3Stub.error(503, "SlowDown")), times: 1000) { _ in true }
        let error = try #require(try await rig.destination.store(try rig.file(1, "k", bytes: 10))?.error)
        #expect(error.isRetryable)
        #expect(error.message.contains("asks for fewer requests"))
        #expect(rig.stub.requests.count == rig.destination.settings.attempts)
        await rig.stop()
    }

    @Test func `Lost parts end the upload, and the next attempt sends the object again`() async throws {
        let rig = try await S3Rig()
        let file = try rig.file(1, "large", bytes: 5000)
        rig.stub.fault(.answer(S3Stub.error(400, "InvalidPart"))) { $0.isComplete }
        let error = try #require(try await rig.destination.store(file)?.error)
        #expect(error.isRetryable)
        #expect(rig.stub.uploads.isEmpty && rig.stub.objects.isEmpty)
        #expect(try await rig.destination.store(file)?.isPublished == true)
        #expect(try rig.holds(file))
        await rig.stop()
    }

    @Test func `An upload that disappears while it is sent or completed can be tried again`() async throws {
        let rig = try await S3Rig()
        let file = try rig.file(1, "large", bytes: 5000)
        rig.stub.fault(.answer(S3Stub.error(404, "NoSuchUpload"))) { $0.isPart }
        await #expect(throws: FleetError.self) { _ = try await rig.destination.store(file) }
        let prepared = try await rig.destination.prepare(file) { _ in true }
        rig.stub.with { $0.uploads = [:] }
        #expect(await rig.destination.publish([prepared])[file.key]?.error?.isRetryable == true)
        #expect(rig.stub.objects.isEmpty)
        await rig.stop()
    }

    @Test func `409 for a key that is being written is tried again, and for ever starts the upload again`() async throws
    {
        let rig = try await S3Rig()
        let conflict = S3Stub.error(409, "ConditionalRequestConflict")
        rig.stub.fault(.answer(conflict), times: 2) { $0.isComplete || $0.isPut }
        let first = try rig.file(1, "large", bytes: 5000)
        #expect(try await rig.destination.store(first)?.isPublished == true)
        #expect(try rig.holds(first))
        rig.stub.fault(.answer(conflict), times: 8) { $0.isComplete }
        let second = try rig.file(2, "large2", bytes: 5000)
        #expect(try await rig.destination.store(second)?.error?.isRetryable == true)
        #expect(rig.stub.uploads.isEmpty)
        #expect(try await rig.destination.store(second)?.isPublished == true)
        await rig.stop()
    }

    @Test(arguments: [2500, 50])
    func `A store that ignores If-None-Match is found out, and taken keys are looked up`(bytes: Int) async throws {
        let rig = try await S3Rig(prefix: "p", options: { $0.honoursIfNoneMatch = false })
        try await rig.destination.check()
        #expect(await !rig.destination.features.refusesTakenKeys)
        #expect(rig.stub.objects.isEmpty)
        let first = try rig.file(1, "k", bytes: bytes)
        let second = try rig.file(2, "k", bytes: bytes, seed: 1)
        let prepared = try await rig.destination.prepare(second) { _ in true }
        #expect(try await rig.destination.store(first)?.isPublished == true)
        #expect(await rig.destination.publish([prepared])[second.key]?.conflict != nil)
        #expect(try await rig.destination.store(second)?.conflict != nil)
        #expect(try rig.holds(first))
        #expect(rig.stub.uploads.isEmpty)
        await rig.stop()
    }

    @Test func `A store without If-None-Match, which refuses the field, is found out as well`() async throws {
        let rig = try await S3Rig()
        rig.stub.fault(.answer(S3Stub.error(501, "NotImplemented")), times: 1000) { $0["If-None-Match"] != nil }
        try await rig.destination.check()
        #expect(await !rig.destination.features.refusesTakenKeys)
        for bytes in [50, 5000] {
            let file = try rig.file(Int64(bytes), "k\(bytes)", bytes: bytes)
            #expect(try await rig.destination.store(file)?.isPublished == true)
            #expect(try rig.holds(file))
        }
        await rig.stop()
    }

    @Test func `The check leaves nothing behind, and says what is wrong with the bucket`() async throws {
        let rig = try await S3Rig()
        try await rig.destination.check()
        #expect(await rig.destination.features.refusesTakenKeys)
        #expect(rig.stub.objects.isEmpty)
        for (code, words) in [("InvalidAccessKeyId", "access key"), ("SignatureDoesNotMatch", "secret key")] {
            rig.stub.fault(.answer(S3Stub.error(403, code))) { $0.method == "HEAD" }
            rig.stub.fault(.answer(S3Stub.error(403, code))) { $0.method == "GET" }
            let error = await #expect(throws: FleetError.self) { try await rig.destination.check() }
            #expect(error?.message.contains(words) == true)
        }
        for words in ["s3:ListBucket", "denies access"] {
            if words == "denies access" {
                rig.stub.fault(.answer(S3Stub.error(403, "AccessDenied"))) { $0.isPut }
            } else {
                rig.stub.fault(.answer(S3Stub.error(403, "AccessDenied")), times: 2) { $0.method == "HEAD" }
                rig.stub.fault(.answer(S3Stub.error(403, "AccessDenied")), times: 2) { $0.method == "GET" }
            }
            let error = await #expect(throws: FleetError.self) { try await rig.destination.check() }
            #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
        }
        try await rig.destination.check()
        #expect(rig.stub.objects.isEmpty)
        await rig.stop()
    }

    @Test func `A check that fails halfway removes its object`() async throws {
        let rig = try await S3Rig()
        let isMade = Mutex(false)
        rig.stub.fault(.answer(S3Stub.error(403, "AccessDenied")), times: 20) {
            if $0.isPut { isMade.withLock { $0 = true } }
            return ["HEAD", "GET"].contains($0.method) && isMade.withLock { $0 }
        }
        await #expect(throws: FleetError.self) { try await rig.destination.check() }
        #expect(isMade.withLock { $0 })
        #expect(rig.stub.objects.isEmpty)
        await rig.stop()
    }

    @Test func `A store that keeps no metadata is refused`() async throws {
        let rig = try await S3Rig(options: { $0.keepsMetadata = false })
        let error = await #expect(throws: FleetError.self) { try await rig.destination.check() }
        #expect(error?.message.contains("metadata") == true)
        #expect(rig.stub.objects.isEmpty)
        await rig.stop()
    }

    @Test func `A completion that takes effect and answers with an error is found out`() async throws {
        let rig = try await S3Rig()
        rig.stub.fault(.mislead(Self.lateError)) { $0.isComplete }
        let file = try rig.file(1, "large", bytes: 5000)
        #expect(try await rig.destination.store(file)?.isPublished == true)
        #expect(try rig.holds(file))
        await rig.stop()
    }

    @Test func `A success without what it must have is asked for again`() async throws {
        let rig = try await S3Rig()
        let empty = TestReply([.head(status: 200, reason: "OK", headers: [("Content-Length", "0")])])
        rig.stub.fault(.answer(empty), times: 2) { $0.isCreate || $0.isPart || $0.isPut }
        for bytes in [5000, 50] {
            let file = try rig.file(Int64(bytes), "key\(bytes)", bytes: bytes)
            #expect(try await rig.destination.store(file)?.isPublished == true)
            #expect(try rig.holds(file))
        }
        await rig.stop()
    }

    @Test func `An object is known by its digest where the answer names no length`() async throws {
        let rig = try await S3Rig()
        let file = try rig.file(1, "k", bytes: 50)
        #expect(try await rig.destination.store(file)?.isPublished == true)
        let head = TestStep.head(
            status: 200,
            reason: "OK",
            headers: [("x-amz-meta-haul-sha256", file.hex), ("Transfer-Encoding", "chunked"), ("ETag", "\"t\"")]
        )
        rig.stub.fault(.answer(TestReply([head])), times: 1) { $0.method == "HEAD" }
        #expect(try await rig.destination.store(file)?.isPublished == true)
        await rig.stop()
    }

    /// An error that blames no file costs no file an attempt.
    @Test func `A store without a connection blames no file, and one that answers with failures may`() async throws {
        let rig = try await S3Rig()
        rig.stub.fault(.answer(S3Stub.error(500, "InternalError")), times: 1000) { _ in true }
        for bytes in [5000, 50] {
            let error = try await rig.failure(of: bytes)
            #expect(error?.code == .destinationUnreachable && error?.blamesNoFile == false)
        }
        await rig.stop()
        for bytes in [5000, 50] {
            let error = try await rig.failure(of: bytes)
            #expect(error?.code == .destinationUnreachable && error?.blamesNoFile == true)
        }
    }
}

extension S3Rig {
    /// Stores a file of this size and returns the error of its preparation or publication.
    fileprivate func failure(of bytes: Int) async throws -> FleetError? {
        do { return try await destination.store(try file(Int64(bytes), "key\(bytes)", bytes: bytes))?.error } catch {
            return error as? FleetError
        }
    }
}
