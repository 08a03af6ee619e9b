import Crypto
import Foundation
import HaulTesting
import Synchronization

/// An S3-compatible store in memory that follows a script of faults. It answers as Amazon documents, and verifies
/// signatures if it knows the secret.
final class S3Stub: Sendable {
    enum Fault: Sendable {
        /// Answers with this reply and does nothing else.
        case answer(TestReply)
        /// Executes the request and answers with this reply.
        case mislead(TestReply)
        /// Executes the request and resets the connection.
        case loseReply
    }

    struct Object: Sendable {
        var bytes: [UInt8]
        var metadata: [String: String]
        var tag: String
    }

    struct Part: Sendable {
        var bytes: [UInt8]
        var tag: String
        var sha256: String?
    }

    struct Upload: Sendable {
        var key: String
        var metadata: [String: String]
        var keepsChecksums: Bool
        var parts: [Int: Part] = [:]
    }

    struct Options: Sendable {
        var bucket = "bucket"
        var region = "us-east-1"
        var honoursIfNoneMatch = true
        /// Accepts and returns the SHA-256 digest of each part.
        var keepsChecksums = true
        /// Answers 501 to a request that names a checksum algorithm.
        var refusesChecksums = false
        var keepsMetadata = true
        var partsOfPage = 1000
        /// Access keys with their secrets. If this is empty, signatures are not verified.
        var secrets: [String: String] = [:]
        var expiredTokens: Set<String> = []
        /// Clock of the store.
        var clock: @Sendable () -> Date = { Date() }
    }

    struct State: Sendable {
        var options: Options
        var objects: [String: Object] = [:]
        var uploads: [String: Upload] = [:]
        var started = 0
        var faults: [(matches: @Sendable (TestRequest) -> Bool, fault: Fault)] = []
        var signatureFaults: [String] = []
        var partBytesReceived = 0
    }

    let server: TestServer
    private let state: Storage

    private final class Storage: Sendable {
        let state: Mutex<State>

        init(_ state: State) { self.state = Mutex(state) }
    }

    private init(_ server: TestServer, _ state: Storage) {
        (self.server, self.state) = (server, state)
    }

    static func start(host: String = "127.0.0.1", port: Int = 0, _ change: (inout Options) -> Void = { _ in })
        async throws -> S3Stub
    {
        var options = Options()
        change(&options)
        let state = Storage(State(options: options))
        let server = try await TestServer.start(host: host, port: port) { request in
            state.state.withLock { $0.answer(request) }
        }
        return S3Stub(server, state)
    }

    func with<Value: Sendable>(_ body: (inout State) -> Value) -> Value { state.state.withLock { body(&$0) } }

    func stop() async { await server.stop() }

    var objects: [String: Object] { with { $0.objects } }
    var uploads: [String: Upload] { with { $0.uploads } }
    var requests: [TestRequest] { server.requests }

    /// Adds a fault for the next `times` requests that match.
    func fault(_ fault: Fault, times: Int = 1, where matches: @escaping @Sendable (TestRequest) -> Bool) {
        with { for _ in 0..<times { $0.faults.append((matches, fault)) } }
    }

    static func error(_ status: Int, _ code: String, headers: [(String, String)] = [], inner: String = "") -> TestReply
    {
        let text =
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>\(code)</Code><Message>Told by the stub</Message>\(inner)</Error>"
        return document(status, text, headers: headers)
    }

    static func document(_ status: Int, _ text: String, headers: [(String, String)] = []) -> TestReply {
        TestReply([
            .head(status: status, reason: "X", headers: headers + [("Content-Length", "\(text.utf8.count)")]),
            .raw(Array(text.utf8)),
        ])
    }
}
