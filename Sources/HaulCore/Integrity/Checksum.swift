extension DownloadRequest {
    /// The digest that a file must have, and its algorithm.
    ///
    /// Written `sha256:9f86d0…`: the algorithm, a colon, the digest in hexadecimal of either case.
    public struct Checksum: Sendable, Hashable, Codable {
        /// The digest algorithms that Haul can compute. `md5`, `sha1` and `gitBlob` detect accidents, not attacks.
        public enum Algorithm: String, Sendable, Hashable, Codable, CaseIterable {
            case md5, sha1, sha256, sha512
            /// The name that git gives to a file: SHA-1 over `blob SIZE`, a zero byte and the file. Written `gitsha1:`
            /// or `git-sha1:` with 40 hexadecimal digits.
            case gitBlob = "gitsha1"

            /// Whether the hashed bytes begin with the length of the file, which must be known before hashing.
            package var needsSize: Bool { self == .gitBlob }

            /// Length of a digest in bytes.
            package var digestLength: Int {
                switch self {
                case .md5: 16
                case .sha1, .gitBlob: 20
                case .sha256: 32
                case .sha512: 64
                }
            }
        }

        /// The algorithm of the digest.
        public let algorithm: Algorithm
        /// The bytes of the digest: 16 for MD5, 20 for SHA-1 and git's digest, 32 for SHA-256, 64 for SHA-512.
        public let digest: [UInt8]

        /// Makes a checksum from the bytes of a digest.
        ///
        /// - Returns: `nil` when `digest` does not have the algorithm's length.
        package init?(_ algorithm: Algorithm, digest: [UInt8]) {
            guard digest.count == algorithm.digestLength else { return nil }
            self.algorithm = algorithm
            self.digest = digest
        }

        /// Reads `ALG:HEX`, for example `sha256:9f86d0…`. Algorithm names may have a dash (`sha-256`); case is ignored.
        ///
        /// - Throws: ``DownloadError`` with code ``DownloadError/Code/invalidChecksum`` when the algorithm is unknown,
        ///   or the digest is not hexadecimal or has the wrong length. The initialiser does not return `nil`, because a
        ///   request would treat `nil` as no checksum.
        public init(_ text: String) throws(DownloadError) {
            let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { throw Self.unreadable("it is not of the form ALGORITHM:DIGEST") }
            guard let algorithm = Algorithm(rawValue: parts[0].lowercased().filter { $0 != "-" }) else {
                throw Self.unreadable("its algorithm is none of md5, sha1, sha256, sha512 and git-sha1")
            }
            guard let digest = Self.bytes(hex: Array(parts[1].utf8)[...]),
                let checksum = Self(algorithm, digest: digest)
            else {
                throw Self.unreadable("\(algorithm) has \(algorithm.digestLength * 2) hexadecimal digits")
            }
            self = checksum
        }

        private static func unreadable(_ reason: String) -> DownloadError {
            DownloadError(.invalidChecksum, "A checksum cannot be read: \(reason).")
        }

        /// The digest in lower-case hexadecimal.
        package var hex: String { digest.hexadecimal }

        /// - Returns: `nil` unless there is an even number of hexadecimal digits and nothing else.
        static func bytes(hex digits: ArraySlice<UInt8>) -> [UInt8]? {
            guard digits.count.isMultiple(of: 2) else { return nil }
            var bytes: [UInt8] = []
            bytes.reserveCapacity(digits.count / 2)
            for index in stride(from: digits.startIndex, to: digits.endIndex, by: 2) {
                guard let high = digits[index].hexadecimalValue, let low = digits[index + 1].hexadecimalValue else {
                    return nil
                }
                bytes.append(high << 4 | low)
            }
            return bytes
        }
    }
}

extension DownloadRequest.Checksum: CustomStringConvertible {
    /// The form `ALG:HEX` that ``init(_:)`` reads.
    public var description: String { "\(algorithm.rawValue):\(hex)" }
}

extension DownloadRequest.Checksum.Algorithm {
    /// Whether collisions are infeasible. MD5 and SHA-1, also git's, detect accidents only: a server's MD5 or SHA-1
    /// digest does not prove the bytes of another source.
    var isCollisionResistant: Bool {
        switch self {
        case .md5, .sha1, .gitBlob: false
        case .sha256, .sha512: true
        }
    }

    /// Whether an equal digest proves a file of a set. Anybody can make two files with one MD5.
    package var provesFiles: Bool { self != .md5 }
}
