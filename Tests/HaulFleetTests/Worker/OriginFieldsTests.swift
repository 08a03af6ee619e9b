import Foundation
import HaulKit
import Testing

@testable import HaulFleet

struct OriginFieldsTests {
    private func headers(_ environment: [String: String], _ url: String) throws -> [HeaderField] {
        let fields = try OriginFields.hub(environment)
        return fields?.headers(for: try #require(URL(string: url))) ?? []
    }

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
}
