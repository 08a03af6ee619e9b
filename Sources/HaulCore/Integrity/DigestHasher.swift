package import Crypto

/// Hashes incrementally with any ``DownloadRequest/Checksum/Algorithm``.
package enum DigestHasher: Sendable {
    case md5(Insecure.MD5)
    case sha1(Insecure.SHA1)
    case sha256(SHA256)
    case sha512(SHA512)

    /// Makes a hasher for data of unknown length.
    ///
    /// - Returns: `nil` for an algorithm that needs the length first.
    package init?(_ algorithm: DownloadRequest.Checksum.Algorithm) {
        guard !algorithm.needsSize else { return nil }
        self.init(algorithm, size: 0)
    }

    /// - Parameter size: number of bytes that will be hashed; only some algorithms use it.
    package init(_ algorithm: DownloadRequest.Checksum.Algorithm, size: Int64) {
        self =
            switch algorithm {
            case .md5: .md5(Insecure.MD5())
            case .sha1: .sha1(Insecure.SHA1())
            case .sha256: .sha256(SHA256())
            case .sha512: .sha512(SHA512())
            case .gitBlob: .sha1(Self.gitBlob(size: size))
            }
    }

    private static func gitBlob(size: Int64) -> Insecure.SHA1 {
        var hasher = Insecure.SHA1()
        Array("blob \(size)\0".utf8).withUnsafeBytes { hasher.update(bufferPointer: $0) }
        return hasher
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
