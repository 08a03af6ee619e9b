package import Crypto

/// Hashes incrementally with any of the algorithms.
package enum DigestHasher: Sendable {
    case md5(Insecure.MD5)
    case sha1(Insecure.SHA1)
    case sha256(SHA256)
    case sha512(SHA512)

    package init(_ algorithm: DownloadRequest.Checksum.Algorithm) {
        self =
            switch algorithm {
            case .md5: .md5(Insecure.MD5())
            case .sha1: .sha1(Insecure.SHA1())
            case .sha256: .sha256(SHA256())
            case .sha512: .sha512(SHA512())
            }
    }

    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        switch self {
        case .md5(var hasher):
            hasher.update(bufferPointer: bytes)
            self = .md5(hasher)
        case .sha1(var hasher):
            hasher.update(bufferPointer: bytes)
            self = .sha1(hasher)
        case .sha256(var hasher):
            hasher.update(bufferPointer: bytes)
            self = .sha256(hasher)
        case .sha512(var hasher):
            hasher.update(bufferPointer: bytes)
            self = .sha512(hasher)
        }
    }

    package func finish() -> [UInt8] {
        switch self {
        case .md5(let hasher): Array(hasher.finalize())
        case .sha1(let hasher): Array(hasher.finalize())
        case .sha256(let hasher): Array(hasher.finalize())
        case .sha512(let hasher): Array(hasher.finalize())
        }
    }
}
