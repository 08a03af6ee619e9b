internal import Crypto
internal import Foundation
internal import HaulKit

/// Digests of a part, in the forms of S3.
struct PartDigest: Sendable, Hashable {
    var sha256: [UInt8]
    /// In hexadecimal digits, as an entity tag has it.
    var md5: String?

    var hexadecimal: String { sha256.hexadecimal }
    var base64: String { Data(sha256).base64EncodedString() }

    struct Running {
        private var sha256 = SHA256()
        private var md5: Insecure.MD5?

        init(withMD5: Bool) { md5 = withMD5 ? Insecure.MD5() : nil }

        mutating func update(_ bytes: UnsafeRawBufferPointer) {
            sha256.update(bufferPointer: bytes)
            md5?.update(bufferPointer: bytes)
        }

        func finish() -> PartDigest {
            PartDigest(sha256: Array(sha256.finalize()), md5: md5?.finalize().hexadecimal)
        }
    }
}
