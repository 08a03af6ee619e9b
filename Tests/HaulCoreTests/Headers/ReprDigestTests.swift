import Foundation
import Testing

@testable import HaulCore

struct ReprDigestTests {
    private static let sha512 = base64(64, 0x51)
    private static let sha256 = base64(32, 0x25)
    private static let sha1 = base64(20, 0x11)
    private static let md5 = base64(16, 0x55)

    private static func base64(_ length: Int, _ byte: UInt8) -> String {
        Data(repeating: byte, count: length).base64EncodedString()
    }

    private func expected(_ algorithm: DownloadRequest.Checksum.Algorithm) throws -> DownloadRequest.Checksum {
        let bytes: [DownloadRequest.Checksum.Algorithm: UInt8] = [
            .md5: 0x55, .sha1: 0x11, .sha256: 0x25, .sha512: 0x51,
        ]
        let byte = try #require(bytes[algorithm])
        return try #require(
            DownloadRequest.Checksum(algorithm, digest: Array(repeating: byte, count: algorithm.digestLength))
        )
    }

    // The digest of `{"hello": "world"}` and a line feed in RFC 9530, appendix B.1.
    @Test func readsTheExampleInTheRFC() {
        let field = "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:"
        #expect(
            ReprDigest.checksum(reprDigest: [field], digest: [])?.hex
                == "44aff4ab2d7c3250525675a08f0cfa9591168cffe51791c5f5bbc417c15a6c38"
        )
    }

    @Test func takesTheStrongestOfReprDigest() throws {
        let lines = ["sha-256=:\(Self.sha256):, unixsum=30637", "sha-512=:\(Self.sha512):;p=1"]
        #expect(ReprDigest.checksum(reprDigest: lines, digest: []) == (try expected(.sha512)))
        #expect(ReprDigest.checksum(reprDigest: [lines[0]], digest: []) == (try expected(.sha256)))
    }

    @Test(arguments: [
        ("MD5=\(md5)", DownloadRequest.Checksum.Algorithm.md5), ("MD5=\(md5),SHA=\(sha1)", .sha1),
        ("sha=\(sha1), SHA-256=\(sha256) ,md5=\(md5)", .sha256), ("sha-256=\(sha256),SHA-512=\(sha512)", .sha512),
        ("UNIXsum=30637, crc32c=AAAA, SHA-256 = \(sha256)", .sha256), ("SHA-512=\(sha256),SHA-256=\(sha256)", .sha256),
        ("SHA-256=\(md5),SHA-256=\(sha256)", .sha256),
    ])
    func takesTheStrongestOfDigest(_ field: String, _ algorithm: DownloadRequest.Checksum.Algorithm) throws {
        #expect(ReprDigest.checksum(reprDigest: [], digest: [field]) == (try expected(algorithm)))
        let lines = field.split(separator: ",").map(String.init)
        #expect(ReprDigest.checksum(reprDigest: [], digest: lines) == (try expected(algorithm)))
    }

    @Test func prefersReprDigestEvenToAStrongerDigest() throws {
        let checksum = ReprDigest.checksum(
            reprDigest: ["sha-256=:\(Self.sha256):"],
            digest: ["SHA-512=\(Self.sha512)"]
        )
        #expect(checksum == (try expected(.sha256)))
    }

    @Test(arguments: [
        "md5=:\(md5):", "sha=:\(sha1):", "sha-256=:\(md5):", "sha-256=::", "sha-256=:A===:", "sha-256=:AB=C:",
        "sha-256=\"\(sha256)\"", "sha-256", "sha-256=1", "sha-256=(:\(sha256):)", "SHA-256=:\(sha256):",
        "sha-256=\(sha256)",
        "sha-256=:\(sha256)", "sha-256=:\(sha256):,", "", ",", "\0",
    ])
    func ignoresAReprDigestItCannotUse(_ field: String) throws {
        #expect(ReprDigest.checksum(reprDigest: [field], digest: []) == nil)
        #expect(ReprDigest.checksum(reprDigest: [field], digest: ["MD5=\(Self.md5)"]) == (try expected(.md5)))
    }

    @Test(arguments: [
        "", ",", "=", "SHA-256", "SHA-256=", "SHA-256=\(md5)", "SHA-256=!!!!", "SHA-256=:\(sha256):",
        "sha256=\(sha256)",
        "SHA-256=\(sha256) x", "id-sha-256=\(sha256)", "MD5=\(md5)\0", "MD5=é",
    ])
    func ignoresADigestItCannotUse(_ field: String) {
        #expect(ReprDigest.checksum(reprDigest: [], digest: [field]) == nil)
    }

    @Test func takesBase64WithoutPadding() throws {
        let bare = Self.sha256.replacingOccurrences(of: "=", with: "")
        #expect(ReprDigest.checksum(reprDigest: ["sha-256=:\(bare):"], digest: []) == (try expected(.sha256)))
    }

    @Test func ignoresAnEndlessField() {
        let keys = (0..<50_000).map { "k\($0)" }.joined(separator: ",")
        #expect(ReprDigest.checksum(reprDigest: [keys + ",sha-256=:\(Self.sha256):"], digest: []) == nil)
    }

    @Test func neverTraps() {
        let alphabet = [
            "sha-256=:\(Self.sha256):", "MD5=\(Self.md5)", "sha-256", "sha-512", "SHA-256", "MD5", "=", "=", ":", ":",
            ",", ", ", ";", "(", ")", "\"", "\\", "?1", "@1", "%\"",
            "-", "1.5", "999999999999999", "A", "AA==", Self.sha256, Self.md5, Self.sha512, " ", "\t", "\0", "é",
            "\u{301}", "*",
        ]
        var found = 0
        var previous = ""
        for text in HostileStrings(of: alphabet, count: 8000, upTo: 10, seed: 8) {
            if let checksum = ReprDigest.checksum(reprDigest: [text, previous], digest: [previous, text]) {
                found += 1
                #expect(checksum.digest.count == checksum.algorithm.digestLength)
            }
            previous = text
        }
        #expect(found > 10)
    }
}
