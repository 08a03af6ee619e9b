internal import HaulKit

/// A request to a store, before it is signed.
struct S3Request: Sendable {
    enum Payload: Sendable {
        case none
        case bytes([UInt8], digest: PartDigest)
        case region(FileRegion, digest: PartDigest)

        var count: Int64 {
            switch self {
            case .none: 0
            case .bytes(let bytes, _): Int64(bytes.count)
            case .region(let region, _): region.count
            }
        }

        var hash: String {
            switch self {
            case .none: RequestSigner.emptyHash
            case .bytes(_, let digest), .region(_, let digest): digest.hexadecimal
            }
        }
    }

    var method: String
    /// Nil for the bucket itself.
    var key: String?
    var query: [(String, String)] = []
    var headers: [(String, String)] = []
    var payload = Payload.none
    /// The store may begin a success, work for minutes, and end it with an error.
    var canFailLate = false
    /// What an answer of the 200s lacks, as a clause; nil for one that can be used.
    var lack: @Sendable (S3Response) -> String? = { _ in nil }
}

/// A store's answer.
struct S3Response: Sendable {
    var status: Int
    /// Names in lower case; of several with one name the first.
    var headers: [String: String]
    var body: [UInt8]

    /// The object's entity tag, without quotation marks; nil also where it is empty.
    var tag: String? { headers["etag"].map(Self.unquoted).flatMap { $0.isEmpty ? nil : $0 } }

    static func unquoted(_ tag: String) -> String {
        tag.count >= 2 && tag.hasPrefix("\"") && tag.hasSuffix("\"") ? String(tag.dropFirst().dropLast()) : tag
    }
}

/// What a store answers in place of what was asked for, or that it does not answer.
struct S3Failure: Error, Sendable {
    /// 0 where there was no answer.
    var status = 0
    /// A code of S3 such as `NoSuchUpload`; of an answer without a body, one made of the status.
    var code: String
    var message = ""
    /// The region that the bucket is in, where the answer says it.
    var region: String?
    /// Header field `Location`.
    var location: String?
    /// Header field `Date`.
    var date: String?
    /// What is told of it.
    var error: FleetError
    /// Whether an attempt of the same request may succeed.
    var isTransient = false
    /// The store, or something before it, asks for fewer requests.
    var asksForLess = false

    /// Not of the store: the disk, cancellation, or no keys.
    init(_ error: FleetError) {
        (code, self.error) = ("", error)
    }
}
