import Foundation
import Testing

@testable import HaulCore
@testable import HaulKit

/// Digests of files.
struct ChecksumFileTests {
    @Test(arguments: [DownloadRequest.Checksum.Algorithm.sha256, .gitBlob])
    func readsAFileOfWhichTheSystemDoesNotSayTheLength(_ algorithm: DownloadRequest.Checksum.Algorithm) async throws {
        let path = "/proc/version"
        guard FileManager.default.fileExists(atPath: path) else { return }
        let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        var hasher = DigestHasher(algorithm, size: Int64(bytes.count))
        bytes.withUnsafeBytes { hasher.update($0) }
        let expected = try #require(DownloadRequest.Checksum(algorithm, digest: hasher.finish()))
        #expect(try await expected.verify(file: path))
    }
}
