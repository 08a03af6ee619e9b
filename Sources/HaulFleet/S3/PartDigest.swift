internal import Crypto
internal import Foundation
internal import HaulKit

/// The digests of a part in the forms that S3 uses.
struct PartDigest: Sendable, Hashable {
    var sha256: [UInt8]
    /// Hexadecimal, as in an entity tag; `nil` if it was not computed.
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
