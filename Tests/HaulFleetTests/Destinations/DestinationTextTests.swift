import Testing

@testable import HaulFleet

@Suite struct DestinationTextTests {
    @Test(arguments: ["/data", "/data/", "//data", "/./data/.", "/data//"])
    func aFolderHasOneSpelling(_ text: String) throws {
        #expect(try DestinationText.make(text, S3Overrides(), currentFolder: "/folder") == "/data")
    }

    @Test(arguments: ["s3:/bucket", "s3:bucket", "S3://bucket", "s3:", "https://a.example/b", ""])
    func whatIsNearlyAStoreIsNoFolder(_ text: String) {
        #expect(throws: FleetError.self) { try DestinationText.make(text, S3Overrides(), currentFolder: "/folder") }
    }

    @Test func aRelativeFolderIsBelowTheCurrentOne() throws {
        #expect(try DestinationText.make("a/./b/", S3Overrides(), currentFolder: "/folder/") == "/folder/a/b")
        #expect(try DestinationText.make("/", S3Overrides(), currentFolder: "/folder") == "/")
    }
}
