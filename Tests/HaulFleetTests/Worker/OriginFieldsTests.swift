import Foundation
import HaulKit
import Testing

@testable import HaulFleet

struct OriginFieldsTests {
    private func headers(_ environment: [String: String], _ url: String) throws -> [HeaderField] {
        let fields = try OriginFields.hub(environment)
        return fields?.headers(for: try #require(URL(string: url))) ?? []
    }

    private func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

    @Test(arguments: [
        "https://huggingface.co/org/model/resolve/01/a", "https://HuggingFace.co:443/a", "HTTPS://huggingface.co/",
    ])
    func theHubGetsTheToken(_ url: String) throws {
        let headers = try headers(["HF_TOKEN": " hf_x\n"], url)
        #expect(headers.map(\.name) == ["Authorization"] && headers.map(\.value) == ["Bearer hf_x"])
    }

    @Test(arguments: [
        "http://huggingface.co/a", "https://huggingface.co:444/a", "https://cdn.huggingface.co/a",
        "https://huggingface.co.example/a", "https://huggingface.co@example.org/a",
        "https://example.org/huggingface.co",
    ])
    func nobodyElseGetsTheToken(_ url: String) throws {
        #expect(try headers(["HF_TOKEN": "hf_x"], url).isEmpty)
    }

    @Test func anotherHubGetsTheTokenInItsPlace() throws {
        let environment = ["HF_TOKEN": "hf_x", "HF_ENDPOINT": "http://127.0.0.1:81/hub"]
        #expect(try headers(environment, "http://127.0.0.1:81/a").count == 1)
        #expect(try headers(environment, "https://huggingface.co/a").isEmpty)
    }

    @Test(arguments: [[:], ["HF_TOKEN": ""], ["HF_TOKEN": " \n"], ["HF_ENDPOINT": "no address"]])
    func withoutATokenThereAreNoFields(_ environment: [String: String]) throws {
        #expect(try OriginFields.hub(environment) == nil)
    }

    @Test(arguments: [["HF_TOKEN": "a\nb"], ["HF_TOKEN": "a", "HF_ENDPOINT": "ftp://h/"]])
    func refusesWhatNoRequestCanHave(_ environment: [String: String]) {
        #expect(throws: FleetError.self) { try OriginFields.hub(environment) }
    }

    @Test func theTokenIsNotPrinted() throws {
        let fields = try #require(try OriginFields.hub(["HF_TOKEN": "hf_secret"]))
        #expect(!"\(fields)".contains("hf_secret"))
    }

    // MARK: Lines of a file

    private static let text = """
        # Fields of two origins.
        https://data.example Authorization: Bearer a b

          https://data.example/ Cookie:session=1
        http://127.0.0.1:81 X-Key: k
        """

    @Test func eachOriginGetsItsFieldsOfTheFile() throws {
        let fields = try OriginFields.lines(Self.text, of: "f")
        let data = try fields.headers(for: url("https://Data.example:443/a?b"))
        #expect(data.map { "\($0.name)=\($0.value)" } == ["Authorization=Bearer a b", "Cookie=session=1"])
        #expect(try fields.headers(for: url("http://127.0.0.1:81/x")).map(\.name) == ["X-Key"])
        #expect(try fields.headers(for: url("http://data.example/a")).isEmpty)
    }

    @Test(arguments: [
        "https://data.example", "data.example A: b", "https://data.example/folder A: b", "https://u@data.example A: b",
        "ftp://data.example A: b", "https://data.example no field", "https://data.example A b: c",
        "https://data.example A: b\u{1}secret",
    ])
    func namesTheLineThatIsNoField(_ line: String) throws {
        let error = try #require(
            #expect(throws: FleetError.self) { try OriginFields.lines("\n# x\n\(line)", of: "/etc/fields") }
        )
        #expect(error.message.contains("Line 3 of /etc/fields") && !error.message.contains("secret"))
    }

    @Test func theFileCountsIfTheEnvironmentHasTheOriginToo() throws {
        let hub = try #require(try OriginFields.hub(["HF_TOKEN": "hf_x"]))
        let file = try OriginFields.lines("https://huggingface.co Authorization: Bearer y\nhttp://a A: b", of: "f")
        let both = hub.merging(file)
        #expect(try both.headers(for: url("https://huggingface.co/a")).map(\.value) == ["Bearer y"])
        #expect(try both.headers(for: url("http://a/")).map(\.value) == ["b"])
    }
}
