internal import Crypto
internal import Foundation
internal import HaulKit

extension RequestSigner {
    /// Returns the query that authenticates a GET request without header fields of its own, for a limited time.
    ///
    /// - Parameters:
    ///   - path: encoded, exactly as it is sent.
    ///   - lifetime: time in seconds for which the store accepts the query; at most 604,800.
    func linkQuery(path: String, authority: String, lifetime: Int, at date: Date) -> String {
        let time = Self.timestamp(date)
        let day = String(time.prefix(8))
        let scope = "\(day)/\(region)/\(service)/aws4_request"
        var items = [
            ("X-Amz-Algorithm", "AWS4-HMAC-SHA256"), ("X-Amz-Credential", "\(credentials.accessKey)/\(scope)"),
            ("X-Amz-Date", time), ("X-Amz-Expires", "\(lifetime)"), ("X-Amz-SignedHeaders", "host"),
        ]
        if let token = credentials.sessionToken { items.append(("X-Amz-Security-Token", token)) }
        let query = S3Encoding.query(items)
        let request = CanonicalRequest(
            method: "GET",
            path: path,
            query: query,
            headers: [("Host", authority)],
            payloadHash: "UNSIGNED-PAYLOAD"
        )
        let key = SigningKey(secret: credentials.secretKey, day: day, region: region, service: service)
        let hash = SHA256.hash(data: Data(request.text.utf8)).hexadecimal
        return query + "&X-Amz-Signature=" + key.signature(of: "AWS4-HMAC-SHA256\n\(time)\n\(scope)\n\(hash)")
    }
}
