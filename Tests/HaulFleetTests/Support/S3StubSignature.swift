import Crypto
import Foundation
import HaulTesting

/// Verifies AWS Signature Version 4 from the bytes on the wire, as a store does. It shares no code with the signer.
enum S3StubSignature {
    /// Returns the decoded names and values of the query.
    static func query(_ request: TestRequest) -> [String: String] {
        guard let mark = request.target.firstIndex(of: "?") else { return [:] }
        let pairs = request.target[request.target.index(after: mark)...].split(separator: "&").map { pair in
            let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map {
                String($0).removingPercentEncoding ?? ""
            }
            return (sides[0], sides.count > 1 ? sides[1] : "")
        }
        return Dictionary(pairs) { $1 }
    }

    static func refusal(of request: TestRequest, _ options: S3Stub.Options, _ faults: inout [String]) -> TestReply? {
        if let token = request["x-amz-security-token"], options.expiredTokens.contains(token) {
            return S3Stub.error(400, "ExpiredToken")
        }
        guard !options.secrets.isEmpty else { return nil }
        func refuse(_ status: Int, _ code: String, _ reason: String) -> TestReply {
            faults.append("\(request.method) \(request.target): \(reason)")
            return S3Stub.error(status, code)
        }
        let pattern =
            /AWS4-HMAC-SHA256 Credential=([^\/]+)\/(\d{8})\/([^\/]+)\/s3\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})/
        guard let parts = request["Authorization"]?.wholeMatch(of: pattern) else {
            return refuse(403, "AccessDenied", "form")
        }
        guard let secret = options.secrets[String(parts.1)] else {
            return refuse(403, "InvalidAccessKeyId", "access key")
        }
        guard parts.3 == options.region else {
            let region = "<Region>\(options.region)</Region>"
            return S3Stub.error(400, "AuthorizationHeaderMalformed", inner: region)
        }
        guard let time = request["x-amz-date"], time.hasPrefix(parts.2) else {
            return refuse(403, "AccessDenied", "date")
        }
        let formatter = ISO8601DateFormatter()
        formatter.formatOptions = [.withYear, .withMonth, .withDay, .withTime, .withTimeZone]
        let clock = options.clock()
        guard let sent = formatter.date(from: time), abs(sent.timeIntervalSince(clock)) < 900 else {
            let date = DateFormatter()
            date.locale = Locale(identifier: "en_US_POSIX")
            date.timeZone = TimeZone(secondsFromGMT: 0)
            date.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
            return S3Stub.error(403, "RequestTimeTooSkewed", headers: [("Date", date.string(from: clock))])
        }
        let body = SHA256.hash(data: request.body).hex
        guard request["x-amz-content-sha256"] == body else {
            return refuse(400, "XAmzContentSHA256Mismatch", "payload")
        }
        let signed = parts.4.split(separator: ";").map(String.init)
        // A strict store refuses `x-amz-` fields that are present but not signed.
        let present = request.headers.map { $0.0.lowercased() }
        guard signed.contains("host"), signed == signed.sorted(),
            present.allSatisfy({ !$0.hasPrefix("x-amz-") && $0 != "content-type" || signed.contains($0) }),
            signed.allSatisfy(present.contains)
        else { return refuse(403, "AccessDenied", "signed fields \(signed)") }
        let target = request.target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let path = encoded(String(target[0]).removingPercentEncoding ?? "", slash: true)
        guard path == target[0] else { return refuse(403, "SignatureDoesNotMatch", "path \(path)") }
        let query =
            target.count < 2
            ? ""
            : target[1].split(separator: "&").map { pair in
                let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map {
                    encoded(String($0).removingPercentEncoding ?? "", slash: false)
                }
                return sides[0] + "=" + (sides.count > 1 ? sides[1] : "")
            }.sorted().joined(separator: "&")
        let fields = signed.map { name in
            let words = (request[name] ?? "").split(separator: " ", omittingEmptySubsequences: true)
            return "\(name):\(words.joined(separator: " "))\n"
        }
        let canonical = [
            request.method, path, query, fields.joined(), signed.joined(separator: ";"), body,
        ].joined(separator: "\n")
        let scope = "\(parts.2)/\(parts.3)/s3/aws4_request"
        let text = "AWS4-HMAC-SHA256\n\(time)\n\(scope)\n\(SHA256.hash(data: Data(canonical.utf8)).hex)"
        var key = Data("AWS4\(secret)".utf8)
        for step in [String(parts.2), String(parts.3), "s3", "aws4_request"] { key = hmac(step, key) }
        guard hmac(text, key).hex == parts.5 else {
            return refuse(403, "SignatureDoesNotMatch", "signature of \(canonical)")
        }
        return nil
    }

    private static func hmac(_ text: String, _ key: Data) -> Data {
        Data(HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: SymmetricKey(data: key)))
    }

    private static func encoded(_ text: String, slash: Bool) -> String {
        text.utf8.map { byte -> String in
            let scalar = Character(Unicode.Scalar(byte))
            let isKept =
                byte < 128 && (scalar.isLetter || scalar.isNumber || "-._~".contains(scalar) || slash && scalar == "/")
            return isKept ? String(scalar) : String(format: "%%%02X", byte)
        }.joined()
    }
}

extension Sequence<UInt8> {
    fileprivate var hex: String { map { String(format: "%02x", $0) }.joined() }
}
