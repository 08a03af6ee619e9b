import Foundation
import Testing

@testable import HaulCore

struct ChecksumTests {
    private static let hex = [
        DownloadRequest.Checksum.Algorithm.md5: String(repeating: "0a", count: 16),
        .sha1: String(repeating: "1B", count: 20),
        .sha256: String(repeating: "fF", count: 32), .sha512: String(repeating: "90", count: 64),
        .gitBlob: String(repeating: "6b", count: 20),
    ]

    @Test(arguments: DownloadRequest.Checksum.Algorithm.allCases)
    func readsAndWritesEveryAlgorithm(_ algorithm: DownloadRequest.Checksum.Algorithm) throws {
        let hex = try #require(Self.hex[algorithm])
        let checksum = try DownloadRequest.Checksum("\(algorithm.rawValue):\(hex)")
        #expect(checksum.algorithm == algorithm && checksum.digest.count == algorithm.digestLength)
        #expect(checksum.description == "\(algorithm.rawValue):\(hex.lowercased())")
        #expect(try DownloadRequest.Checksum(checksum.description) == checksum)
    }

    @Test(arguments: ["sha-256", "SHA256", "Sha-256", "SHA-2-56"])
    func readsSloppyAlgorithmNames(_ name: String) throws {
        #expect(try DownloadRequest.Checksum(name + ":" + String(repeating: "00", count: 32)).algorithm == .sha256)
    }

    @Test(arguments: ["git-sha1", "gitsha1", "GIT-SHA-1"])
    func readsTheDigestOfGit(_ name: String) throws {
        let checksum = try DownloadRequest.Checksum(name + ":" + String(repeating: "00", count: 20))
        #expect(checksum.algorithm == .gitBlob && !checksum.algorithm.isCollisionResistant)
    }

    @Test(arguments: [
        "", ":", "sha256", "sha256:", "crc32:00000000", ":00", "sha256 :" + String(repeating: "0", count: 64),
        "sha256:" + String(repeating: "0", count: 63), "sha256:" + String(repeating: "0", count: 62),
        "sha256:" + String(repeating: "0", count: 66), "sha256:" + String(repeating: "g", count: 64),
        "sha256: " + String(repeating: "0", count: 64), "sha256:0x" + String(repeating: "0", count: 62),
        "sha256:" + String(repeating: "０", count: 64), "sha512:" + String(repeating: "0", count: 64),
        "sha256::" + String(repeating: "0", count: 64),
    ])
    func refusesWhatIsNoChecksum(_ text: String) {
        #expect(throws: DownloadError.self) { try DownloadRequest.Checksum(text) }
    }

    @Test(arguments: [
        ("9f86", "it is not of the form ALGORITHM:DIGEST"), ("crc32:00", "its algorithm is none of"),
        ("sha256:9f86", "sha256 has 64 hexadecimal digits"),
    ])
    func saysWhyItCannotReadOne(_ text: String, _ reason: String) {
        let error = #expect(throws: DownloadError.self) { try DownloadRequest.Checksum(text) }
        #expect(error?.code == .invalidChecksum && error?.message.contains(reason) == true)
    }

    @Test func refusesADigestOfTheWrongLength() {
        for length in [0, 15, 17, 31, 33] {
            #expect(DownloadRequest.Checksum(.sha256, digest: Array(repeating: 0, count: length)) == nil)
        }
    }
}
