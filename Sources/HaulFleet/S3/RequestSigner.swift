internal import Crypto
internal import Foundation
internal import HaulKit

/// The signing key for a day, a region and a service (AWS Signature Version 4).
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

/// The signed content of a request (AWS Signature Version 4).
struct CanonicalRequest: Sendable {
    let text: String
    /// Lower-case names, joined by semicolons.
    let signedHeaders: String

    /// - Parameters:
    ///   - path: exactly as sent. S3 neither normalizes nor encodes the path again.
    ///   - query: encoded and sorted.
    ///   - headers: all signed fields, including `Host`.
    init(method: String, path: String, query: String, headers: [(String, String)], payloadHash: String) {
        let fields = headers.map { ($0.0.lowercased(), Self.trimmed($0.1)) }.sorted { $0.0 < $1.0 }
        signedHeaders = fields.map(\.0).joined(separator: ";")
        let lines = fields.map { "\($0.0):\($0.1)\n" }.joined()
        text = "\(method)\n\(path)\n\(query)\n\(lines)\n\(signedHeaders)\n\(payloadHash)"
    }

    /// Removes spaces and tabs at both ends and joins inner runs into one space.
    private static func trimmed(_ value: String) -> String {
        value.split(whereSeparator: { $0 == " " || $0 == "\t" }).joined(separator: " ")
    }
}

/// Adds the header fields that authenticate a request to a store.
struct RequestSigner: Sendable {
    static let emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

    var credentials: S3Credentials
    var region: String
    var service = "s3"

    /// Signs a request.
    ///
    /// - Parameter headers: further fields. All are signed except `Content-Length` and `User-Agent`, which
    ///   intermediaries may set.
    /// - Returns: all fields to send.
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
        fields.append(
            (
                "Authorization",
                "AWS4-HMAC-SHA256 Credential=\(credentials.accessKey)/\(scope(time)), "
                    + "SignedHeaders=\(request.signedHeaders), Signature=\(signature(of: request, time))"
            )
        )
        return fields
    }

    /// Returns the scope of a signature: day, region and service.
    ///
    /// - Parameter time: see ``timestamp(_:)``.
    func scope(_ time: String) -> String { "\(time.prefix(8))/\(region)/\(service)/aws4_request" }

    func signature(of request: CanonicalRequest, _ time: String) -> String {
        let day = String(time.prefix(8))
        let hash = SHA256.hash(data: Data(request.text.utf8)).hexadecimal
        let key = SigningKey(secret: credentials.secretKey, day: day, region: region, service: service)
        return key.signature(of: "AWS4-HMAC-SHA256\n\(time)\n\(scope(time))\n\(hash)")
    }

    /// Formats `date` as `YYYYMMDDThhmmssZ` in the Gregorian calendar and UTC.
    static func timestamp(_ date: Date) -> String {
        let text = date.ISO8601Format(.init(dateSeparator: .omitted, timeSeparator: .omitted, timeZone: .gmt))
        return String(text.prefix(15)) + "Z"
    }
}
