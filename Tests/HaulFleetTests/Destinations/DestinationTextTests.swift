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

    /// The settings come from the database, where anybody with the right may have put any text.
    @Test func settingsOfAStoreMayHaveCharactersThatNoQueryHas() throws {
        let keys = ["AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"]
        let settings = try DestinationText.s3("s3://bucket/p?region=a b", S3Overrides(), environment: keys)
        #expect(settings.region == "a b")
        #expect(throws: FleetError.self) {
            try DestinationText.s3("s3://bucket/p?region=eu#x", S3Overrides(), environment: keys)
        }
    }

    @Test(arguments: [
        ("addressing=Path", "addressing"), ("addressing=", "addressing"), ("part-size=8M", "part-size"),
        ("part-size=", "part-size"), ("part-size=0", "part-size"), ("part-size=-1", "part-size"),
        ("part-size=5368709121", "part-size"),
    ])
    func anUnreadableSettingOfAStoreIsRefusedByName(_ query: String, _ name: String) throws {
        let error = #expect(throws: FleetError.self) {
            try DestinationText.s3("s3://bucket/p?\(query)", S3Overrides(), environment: [:])
        }
        #expect(error?.code == .invalidInput)
        #expect(error?.message.contains("The setting \(name) of the destination cannot be read") == true)
    }

    @Test func theSettingsThatAStoreIsGivenAreReadAgain() throws {
        var overrides = S3Overrides()
        (overrides.addressing, overrides.partSize) = (.virtualHost, 5 << 20)
        let text = try DestinationText.make("s3://bucket/p", overrides, currentFolder: "/")
        let settings = try DestinationText.s3(text, S3Overrides(), environment: [:])
        #expect(settings.addressing == .virtualHost && settings.partSize == 5 << 20)
    }

    @Test func aRelativeFolderIsBelowTheCurrentOne() throws {
        #expect(try DestinationText.make("a/./b/", S3Overrides(), currentFolder: "/folder/") == "/folder/a/b")
        #expect(try DestinationText.make("/", S3Overrides(), currentFolder: "/folder") == "/")
    }
}
