internal import Crypto
internal import Foundation
internal import HaulKit

/// The key of a day, a region and a service (AWS Signature Version 4).
struct SigningKey: Sendable {
    private let key: SymmetricKey

    init(secret: String, day: String, region: String, service: String) {
        var key = SymmetricKey(data: Data("AWS4\(secret)".utf8))
        for text in [day, region, service, "aws4_request"] {
            key = SymmetricKey(data: HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: key))
        }
        self.key = key
    }

    func signature(of text: String) -> String {
        HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: key).hexadecimal
    }
}

/// What is signed of a request, in the form of AWS Signature Version 4.
struct CanonicalRequest: Sendable {
    let text: String
    /// Names in lower case, joined by semicolons.
    let signedHeaders: String

    /// - Parameters:
    ///   - path: as it is sent: S3 neither normalizes nor encodes it once more.
    ///   - query: encoded and sorted.
    ///   - headers: all that are signed, `Host` among them.
    init(method: String, path: String, query: String, headers: [(String, String)], payloadHash: String) {
        let fields = headers.map { ($0.0.lowercased(), Self.trimmed($0.1)) }.sorted { $0.0 < $1.0 }
        signedHeaders = fields.map(\.0).joined(separator: ";")
        let lines = fields.map { "\($0.0):\($0.1)\n" }.joined()
        text = "\(method)\n\(path)\n\(query)\n\(lines)\n\(signedHeaders)\n\(payloadHash)"
    }

    /// Without spaces around it, and with one in place of several.
    private static func trimmed(_ value: String) -> String {
        value.split(whereSeparator: { $0 == " " || $0 == "\t" }).joined(separator: " ")
    }
}

/// Adds the header fields that prove to a store who sends a request.
struct RequestSigner: Sendable {
    static let emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

    var credentials: S3Credentials
    var region: String
    var service = "s3"

    /// - Parameter headers: all are signed but `Content-Length` and `User-Agent`, which others on the way may set.
    /// - Returns: the fields to send.
    func sign(
        method: String,
        path: String,
        query: String,
        authority: String,
        headers: [(String, String)],
        payloadHash: String,
        at date: Date
    ) -> [(String, String)] {
        let time = Self.timestamp(date)
        let day = String(time.prefix(8))
        var fields = [("Host", authority), ("x-amz-date", time), ("x-amz-content-sha256", payloadHash)]
        if let token = credentials.sessionToken { fields.append(("x-amz-security-token", token)) }
        fields += headers
        let signed = fields.filter { !["content-length", "user-agent"].contains($0.0.lowercased()) }
        let request = CanonicalRequest(
            method: method,
            path: path,
            query: query,
            headers: signed,
            payloadHash: payloadHash
        )
        let scope = "\(day)/\(region)/\(service)/aws4_request"
        let hash = SHA256.hash(data: Data(request.text.utf8)).hexadecimal
        let key = SigningKey(secret: credentials.secretKey, day: day, region: region, service: service)
        let signature = key.signature(of: "AWS4-HMAC-SHA256\n\(time)\n\(scope)\n\(hash)")
        fields.append(
            (
                "Authorization",
                "AWS4-HMAC-SHA256 Credential=\(credentials.accessKey)/\(scope), "
                    + "SignedHeaders=\(request.signedHeaders), Signature=\(signature)"
            )
        )
        return fields
    }

    /// `YYYYMMDDThhmmssZ` of the Gregorian calendar in UTC.
    static func timestamp(_ date: Date) -> String {
        let text = date.ISO8601Format(.init(dateSeparator: .omitted, timeSeparator: .omitted, timeZone: .gmt))
        return String(text.prefix(15)) + "Z"
    }
}
