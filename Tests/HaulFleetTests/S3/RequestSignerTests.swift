import Crypto
import Foundation
import Testing

@testable import HaulFleet

/// Tests the signer with the examples of AWS's documentation ("Authenticating Requests: Using the Authorization
/// Header") and with two requests that botocore 1.43.11 signed.
@Suite struct RequestSignerTests {
    private static let documented = S3Credentials(
        accessKey: "AKIAIOSFODNN7EXAMPLE",
        secretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
    )
    private static let temporary = S3Credentials(accessKey: "AKID", secretKey: "SECRET", sessionToken: "TOKEN/+=")
    private static let date = Date(timeIntervalSince1970: 1_369_353_600)

    private func authorization(
        by credentials: S3Credentials = documented,
        _ method: String,
        _ path: String,
        query: [(String, String)] = [],
        headers: [(String, String)] = [],
        body: String = "",
        authority: String = "examplebucket.s3.amazonaws.com"
    ) throws -> String {
        let fields = RequestSigner(credentials: credentials, region: "us-east-1").sign(
            method: method,
            path: path,
            query: S3Encoding.query(query),
            authority: authority,
            headers: headers,
            payloadHash: SHA256.hash(data: Data(body.utf8)).map { String(format: "%02x", $0) }.joined(),
            at: Self.date
        )
        return try #require(fields.first { $0.0 == "Authorization" }?.1)
    }

    @Test func `A GET with a range has the documented signature`() throws {
        let text = try authorization("GET", "/test.txt", headers: [("Range", "bytes=0-9")])
        #expect(
            text == "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
                + "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
                + "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
        )
    }

    @Test func `A PUT has the documented signature`() throws {
        let text = try authorization(
            "PUT",
            "/" + S3Encoding.key("test$file.text"),
            headers: [("Date", "Fri, 24 May 2013 00:00:00 GMT"), ("x-amz-storage-class", "REDUCED_REDUNDANCY")],
            body: "Welcome to Amazon S3."
        )
        #expect(text.hasSuffix("Signature=98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"))
    }

    @Test func `A query without a value, and one with two, have the documented signatures`() throws {
        #expect(
            try authorization("GET", "/", query: [("lifecycle", "")])
                .hasSuffix("Signature=fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543")
        )
        #expect(
            try authorization("GET", "/", query: [("prefix", "J"), ("max-keys", "2")])
                .hasSuffix("Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7")
        )
    }

    @Test func `An odd key, a port, a token and fields with spaces are signed as botocore does`() throws {
        let text = try authorization(
            by: Self.temporary,
            "PUT",
            "/b/" + S3Encoding.key("a b/+%~*@ü//x/../y/"),
            headers: [
                ("If-None-Match", "*"), ("x-amz-meta-a", "two  spaces   in it "),
                ("Content-Type", "application/octet-stream"), ("Content-Length", "3"), ("User-Agent", "x"),
            ],
            body: "xyz",
            authority: "127.0.0.1:9000"
        )
        #expect(
            text.hasSuffix(
                "SignedHeaders=content-type;host;if-none-match;x-amz-content-sha256;x-amz-date;x-amz-meta-a;"
                    + "x-amz-security-token, Signature=5139a490e0b90a5ac1a5a4329d250c1208a988edf58e7ca78c8d15c0e90b7f18"
            )
        )
        let query = [("uploadId", "a+b/="), ("max-parts", "1000"), ("part-number-marker", "7")]
        #expect(
            try authorization(by: Self.temporary, "GET", "/b/k", query: query, authority: "127.0.0.1:9000")
                .hasSuffix("Signature=083124b301fd5c113ac9b9dd54fa7035e3eedca7fecbefa7c1c783632f387cd9")
        )
    }

    @Test func `Every byte but the unreserved ones is encoded, and a key keeps its slashes`() {
        #expect(S3Encoding.key("a b+%~*@ü//.././'()!") == "a%20b%2B%25~%2A%40%C3%BC//.././%27%28%29%21")
        #expect(S3Encoding.value("a/b c") == "a%2Fb%20c")
        #expect(S3Encoding.query([("b", "2"), ("a", ""), ("b", "1"), ("A", "x y")]) == "A=x%20y&a=&b=1&b=2")
    }

    @Test(arguments: [0.0, 951_782_400, 1_709_251_199.999, 4_102_444_800])
    func `A time has the basic form of ISO 8601 in UTC`(seconds: Double) throws {
        let text = RequestSigner.timestamp(Date(timeIntervalSince1970: seconds))
        let expected = [
            0: "19700101T000000Z", 951_782_400: "20000229T000000Z", 1_709_251_199: "20240229T235959Z",
            4_102_444_800: "21000101T000000Z",
        ]
        #expect(text == expected[Int(seconds)])
    }

    @Test func `Keys are never printed`() {
        let keys = S3Credentials(accessKey: "AKIA1234", secretKey: "topsecret", sessionToken: "sessiontoken")
        var dumped = ""
        dump(keys, to: &dumped)
        for text in ["\(keys)", String(reflecting: keys), dumped, "\([keys])", "\(Optional(keys) as Any)"] {
            #expect(!text.contains("secret") && !text.contains("sessiontoken") && !text.contains("1234"))
        }
    }
}
