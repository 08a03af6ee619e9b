import Foundation
import Testing

@testable import HaulCore
@testable import HaulKit

/// Digests of files.
struct ChecksumFileTests {
    @Test func readsAFileOfWhichTheSystemDoesNotSayTheLength() async throws {
        let path = "/proc/version"
        guard FileManager.default.fileExists(atPath: path) else { return }
        var hasher = DigestHasher(.sha256)
        try Data(contentsOf: URL(fileURLWithPath: path)).withUnsafeBytes { hasher.update($0) }
        let expected = try #require(DownloadRequest.Checksum(.sha256, digest: hasher.finish()))
        #expect(try await expected.verify(file: path))
    }
}
