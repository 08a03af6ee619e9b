import NIOCore
import Testing

@testable import HaulCore
@testable import HaulKit

struct RunningDigestTests {
    @Test(arguments: [
        "md5:900150983cd24fb0d6963f7d28e17f72", "sha1:a9993e364706816aba3e25717850c26c9cd0d89d",
        "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        "sha512:ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce"
            + "80e2a9ac94fa54ca49f",
        "gitsha1:f2ba8f84ab5c1bce84a7b441cb1959cfc7093b7f",
    ])
    func computesTheDigestOfABC(_ expected: String) throws {
        let checksum = try DownloadRequest.Checksum(expected)
        let digest = RunningDigest(checksum.algorithm, size: 3)
        digest.update([ByteBuffer(string: "a"), ByteBuffer(), ByteBuffer(string: "b")], at: 0)
        digest.update([ByteBuffer(string: "c")], at: 2)
        #expect(digest.finish() == checksum && digest.position == 3)
    }

    @Test func isNoDigestOfAFileOfUnknownLengthThatBeginsWithTheLength() {
        #expect(RunningDigest(.gitBlob) == nil && DigestHasher(.gitBlob) == nil)
    }

    private func digest(of bytes: [UInt8]) -> DownloadRequest.Checksum? {
        let digest = RunningDigest(.sha256, size: Int64(bytes.count))
        digest.update([ByteBuffer(bytes: bytes)], at: 0)
        return digest.finish()
    }

    @Test func ignoresBytesThatDoNotContinue() throws {
        let digest = try #require(RunningDigest(.sha256))
        digest.update([ByteBuffer(string: "late")], at: 10)
        digest.update([ByteBuffer(string: "ab")], at: 0)
        digest.update([ByteBuffer(string: "ab")], at: 0)
        digest.update([ByteBuffer(string: "b")], at: 1)
        #expect(digest.position == 2 && digest.finish() == self.digest(of: Array("ab".utf8)))
    }

    /// Blocks of a prime length, so that their ends coincide with no buffer size of the code.
    private static let longBytes = Array(repeatElement(someBytes(65_521, seed: 1), count: 40).joined())

    @Test(arguments: 0..<10 as Range<UInt64>)
    func isTheSameHoweverTheBytesCame(_ seed: UInt64) throws {
        let bytes = Self.longBytes
        let file = MemoryFile(bytes)
        var random = SplitMix64(seed: seed)
        let digest = try #require(RunningDigest(.sha256))
        var written = 0
        while written < bytes.count {
            let end = min(bytes.count, written + Int.random(in: 1...400_000, using: &random))
            if Bool.random(using: &random) {
                digest.update([ByteBuffer(bytes: bytes[written..<end])], at: Int64(written))
            }
            written = end
            if Int.random(in: 0..<3, using: &random) == 0 {
                let limit = Int64(written)
                try digest.catchUp(with: file, written: { limit }, isCancelled: { false })
                #expect(digest.position == limit, "seed \(seed)")
            }
        }
        try digest.catchUp(with: file, written: { Int64(bytes.count) }, isCancelled: { false })
        #expect(digest.finish() == self.digest(of: bytes), "seed \(seed)")
    }

    @Test func stopsWhenCancelledAndGoesOnLater() throws {
        let bytes = Array(Self.longBytes.prefix(2 << 20))
        let file = MemoryFile(bytes)
        let digest = try #require(RunningDigest(.sha256))
        var blocks = 0
        try digest.catchUp(with: file, written: { 2 << 20 }) {
            blocks += 1
            return blocks > 1
        }
        #expect(digest.position == 1 << 20)
        try digest.catchUp(with: file, written: { 2 << 20 }, isCancelled: { false })
        #expect(digest.finish() == self.digest(of: bytes))
    }

    @Test func doesNotWaitForBytesThatWereCutOff() throws {
        let digest = try #require(RunningDigest(.md5))
        try digest.catchUp(with: MemoryFile([1, 2, 3]), written: { 100 }, isCancelled: { false })
        #expect(digest.position == 3)
    }
}
