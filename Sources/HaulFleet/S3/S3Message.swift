internal import HaulKit

/// An unsigned request to a store.
struct S3Request: Sendable {
    enum Payload: Sendable {
        case none
        case bytes([UInt8], digest: PartDigest)
        case region(FileRegion, digest: PartDigest)

        static func document(_ text: String) -> Payload {
            let bytes = Array(text.utf8)
            var digest = PartDigest.Running(withMD5: false)
            bytes.withUnsafeBytes { digest.update($0) }
            return .bytes(bytes, digest: digest.finish())
        }

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
    /// The object's key; `nil` for the bucket itself.
    var key: String?
    var query: [(String, String)] = []
    var headers: [(String, String)] = []
    var payload = Payload.none
    /// Whether the store may begin a success response, work for minutes and end the body with an error.
    var canFailLate = false
    /// Returns what a 2xx response lacks, as a clause; `nil` for a usable response.
    var lack: @Sendable (S3Response) -> String? = { _ in nil }
}

/// The response of a store.
struct S3Response: Sendable {
    var status: Int
    /// Names are in lower case. Of several fields with one name, the first counts.
    var headers: [String: String]
    var body: [UInt8]

    /// The object's entity tag without quotation marks; `nil` if it is missing or empty.
    var tag: String? { headers["etag"].map(Self.unquoted).flatMap { $0.isEmpty ? nil : $0 } }

    static func unquoted(_ tag: String) -> String {
        tag.count >= 2 && tag.hasPrefix("\"") && tag.hasSuffix("\"") ? String(tag.dropFirst().dropLast()) : tag
    }
}

/// An error response of a store, or a request without a response.
struct S3Failure: Error, Sendable {
    /// HTTP status; 0 without a response.
    var status = 0
    /// An S3 code such as `NoSuchUpload`. Derived from the status if the response has no error document.
    var code: String
    var message = ""
    /// The bucket's region; `nil` if the response does not name it.
    var region: String?
    /// Header field `Location`.
    var location: String?
    /// Header field `Date`.
    var date: String?
    /// The error in the form that the destination throws.
    var error: FleetError
    /// Whether a repetition of the request may succeed.
    var isTransient = false
    /// Whether the store or an intermediary asks for fewer requests.
    var asksForLess = false

    /// Makes a failure without an error response, for example a disk error, a cancellation or missing keys.
    init(_ error: FleetError) {
        (code, self.error) = ("", error)
    }
}
