import Crypto
import Foundation
import HaulTesting
import Logging

@testable import HaulFleet

/// Creates a destination on a stub of an S3 store, with parts of 1,000 bytes and short waits.
struct S3Rig {
    static let keys = S3Credentials(accessKey: "AKID", secretKey: "the secret")

    let stub: S3Stub
    let folder: TemporaryFolder
    let destination: S3Destination

    /// - Parameter verifies: `true` makes the stub refuse requests without a valid signature.
    init(
        prefix: String = "",
        verifies: Bool = true,
        options: (inout S3Stub.Options) -> Void = { _ in },
        settings: (inout S3Settings) -> Void = { _ in },
        credentials: S3CredentialCache = S3CredentialCache([FixedCredentials(keys)])
    ) async throws {
        stub = try await S3Stub.start {
            if verifies { $0.secrets = [Self.keys.accessKey: Self.keys.secretKey] }
            options(&$0)
        }
        folder = try TemporaryFolder()
        var chosen = Self.settings(stub.server.url(""), prefix: prefix)
        settings(&chosen)
        destination = try S3Destination(
            chosen,
            stagingFolder: folder.path,
            credentials: credentials,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    static func settings(_ endpoint: String, bucket: String = "bucket", prefix: String = "") -> S3Settings {
        var settings = S3Settings(bucket: bucket, prefix: prefix, endpoint: endpoint)
        settings.partSize = 1000
        settings.retryDelay = .milliseconds(1)
        settings.longestRetryDelay = .milliseconds(20)
        return settings
    }

    /// Creates a staged file whose parts have different bytes.
    func file(_ item: Int64, _ path: String, bytes: Int, epoch: Int32 = 1, seed: UInt8 = 0) throws -> StagedFile {
        let content = (0..<bytes).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ ($0 >> 8)) &+ seed }
        return try StagedFiles.make(item, path, Data(content), in: folder.path, epoch: epoch)
    }

    func stop() async { await stub.server.stop() }

    /// Returns whether the store has exactly this file under its path.
    func holds(_ file: StagedFile) throws -> Bool {
        let prefix = destination.settings.prefix
        let object = stub.objects[prefix.isEmpty ? file.path : "\(prefix)/\(file.path)"]
        let content = try Data(contentsOf: URL(fileURLWithPath: file.stagedPath))
        return object.map { Data($0.bytes) == content && $0.metadata["x-amz-meta-haul-sha256"] == file.hex } ?? false
    }
}

extension StagedFile {
    var hex: String { sha256.map { String(format: "%02x", $0) }.joined() }
}

struct FixedCredentials: S3CredentialSource {
    let keys: S3Credentials

    init(_ keys: S3Credentials) { self.keys = keys }

    func load() throws(FleetError) -> S3Credentials? { keys }
}

extension TestRequest {
    var isPart: Bool { method == "PUT" && target.contains("partNumber=") }
    var isComplete: Bool { method == "POST" && target.contains("uploadId=") }
    var isCreate: Bool { method == "POST" && target.contains("uploads=") }
    var isPut: Bool { method == "PUT" && !target.contains("?") }
}
