import Foundation
import Testing

@testable import HaulFleet

/// Objects of a store as sources.
@Suite struct S3SourceTests {
    private static let date = Date(timeIntervalSince1970: 1_369_353_600)

    private func sources(
        _ keys: S3Credentials = S3Rig.keys,
        endpoint: String? = "http://127.0.0.1:9000",
        region: String = "us-east-1"
    ) -> S3Sources {
        var settings = S3Settings(bucket: "any", region: region, endpoint: endpoint)
        settings.addressing = .automatic
        return S3Sources(
            settings,
            S3CredentialCache([FixedCredentials(keys)], now: { Self.date }),
            now: { Self.date }
        )
    }

    @Test func aLinkHasTheDocumentedSignature() throws {
        let signer = RequestSigner(
            credentials: S3Credentials(
                accessKey: "AKIAIOSFODNN7EXAMPLE",
                secretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
            ),
            region: "us-east-1"
        )
        let query = signer.linkQuery(
            path: "/test.txt",
            authority: "examplebucket.s3.amazonaws.com",
            lifetime: 86_400,
            at: Self.date
        )
        #expect(
            query.hasSuffix("X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404")
        )
    }

    /// The same as botocore 1.43.11 signs.
    @Test func aLinkWithATokenIsThatOfBotocore() async throws {
        let keys = S3Credentials(accessKey: "AKID", secretKey: "SECRET", sessionToken: "TOKEN/+=")
        let object = try #require(S3Object("s3://data/a b/ü#?.bin"))
        #expect(
            try await sources(keys, region: "eu-west-1").link(to: object).absoluteString
                == "http://127.0.0.1:9000/data/a%20b/%C3%BC%23%3F.bin?X-Amz-Algorithm=AWS4-HMAC-SHA256"
                + "&X-Amz-Credential=AKID%2F20130524%2Feu-west-1%2Fs3%2Faws4_request&X-Amz-Date=20130524T000000Z"
                + "&X-Amz-Expires=21600&X-Amz-Security-Token=TOKEN%2F%2B%3D&X-Amz-SignedHeaders=host"
                + "&X-Amz-Signature=f215229a8d79f3783b9a0a048a761f30171e0000313a829be51cc5983063a3e4"
        )
    }

    @Test func aLinkLivesNoLongerThanItsCredentials() async throws {
        var keys = S3Rig.keys
        keys.expires = Self.date + 1800
        let link = try await sources(keys).link(to: try #require(S3Object("s3://data/f")))
        #expect(link.query()?.contains("X-Amz-Expires=1800&") == true)
    }

    @Test func requestsCountForTheirBucket() async throws {
        let (sources, other) = (sources(), self.sources(endpoint: nil))
        #expect(sources.hostName(of: try #require(URL(string: "http://127.0.0.1:9000/data/f"))) == nil)
        for name in ["s3://data/f", "s3://data2/f"] {
            let object = try #require(S3Object(name))
            for source in [sources, other] {
                #expect(source.hostName(of: try await source.link(to: object)) == object.hostName)
            }
        }
        for url in ["http://127.0.0.1:9001/data/f", "http://127.0.0.1:9000/data3/f", "http://h:9000/data/f"] {
            #expect(sources.hostName(of: try #require(URL(string: url))) == nil, "\(url)")
        }
        #expect(
            other.hostName(of: try #require(URL(string: "https://data.s3.us-east-1.amazonaws.com/f"))) == "s3://data"
        )
    }

    @Test(arguments: [
        "s3://", "s3://data", "s3://data/", "s3://d/f", "s3://da%2fta/f", "s3://data/a\nb", "s3://data/\u{7F}",
        "S3://data/f",
        "s3://user:secret@data/f", "s3://data:9000/f", "s3://data/" + String(repeating: "x", count: 1025),
    ])
    func textThatNamesNoObject(_ text: String) { #expect(S3Object(text) == nil) }

    @Test func aListNamesObjects() throws {
        var raw = RawItem()
        raw.url = "s3://data/dir/100% sure?#1.bin"
        let item = try raw.checked(1)
        #expect(item.url == raw.url)
        #expect(HostName(url: item.url)?.text == "s3://data")
        #expect(
            HostName(typed: "s3://data")?.text == "s3://data" && HostName(typed: "s3://data/f")?.text == "s3://data"
        )
        #expect(HostName(typed: "s3://") == nil && HostName(typed: "s3://d") == nil)
        raw.url = "s3://data"
        #expect(throws: LineError.self) { try raw.checked(1) }
    }

    @Test func thePathIsThatOfTheObject() {
        #expect(ItemPath.from(url: "s3://data/dir/a%20b.txt") == "data/dir/a%20b.txt")
        #expect(ItemPath.from(url: "s3://data/dir/") == "data/dir/index.html")
        let names = ["s3://data/a", "s3://data/../a", "s3://data/./a", "s3://data/a:", "s3://data/a\\"]
        let paths = names.map { ItemPath.from(url: $0) }
        #expect(Set(paths).count == names.count, "\(paths)")
        #expect(paths.allSatisfy { !$0.split(separator: "/").contains("..") && $0.hasPrefix("data/") })
    }
}
