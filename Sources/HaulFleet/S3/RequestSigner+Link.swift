internal import Foundation

extension RequestSigner {
    /// Returns the query that authenticates a GET request without header fields of its own, for a limited time.
    ///
    /// - Parameters:
    ///   - path: encoded, exactly as it is sent.
    ///   - lifetime: time in seconds for which the store accepts the query; at most 604,800.
    func linkQuery(path: String, authority: String, lifetime: Int, at date: Date) -> String {
        let time = Self.timestamp(date)
        var items = [
            ("X-Amz-Algorithm", "AWS4-HMAC-SHA256"), ("X-Amz-Credential", "\(credentials.accessKey)/\(scope(time))"),
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
        return query + "&X-Amz-Signature=" + signature(of: request, time)
    }
}
