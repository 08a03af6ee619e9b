import Foundation
import Testing

@testable import HaulCore

struct HubReferenceTests {
    private func endpoint(_ text: String = "https://hub.example") throws -> URL { try #require(URL(string: text)) }

    @Test(
        arguments: [
            ("hf://org/name", HubReference.Kind.model, "org/name", nil), ("HF://org/name", .model, "org/name", nil),
            ("hf://gpt2", .model, "gpt2", nil), ("hf://org/name@v1.0", .model, "org/name", "v1.0"),
            ("hf://models/org/name", .model, "org/name", nil),
            ("hf://datasets/org/name", .dataset, "org/name", nil),
            ("hf://datasets/squad@main", .dataset, "squad", "main"),
            ("hf://spaces/org/na-me_1.5", .space, "org/na-me_1.5", nil),
            ("hf://org/name@refs/pr/1", .model, "org/name", "refs/pr/1"),
            ("hf://org/name@refs%2Fpr%2F1", .model, "org/name", "refs/pr/1"),
            ("hf://gpt2@refs/pr/1", .model, "gpt2", "refs/pr/1"), ("hf://gpt2@a%2Fb", .model, "gpt2", "a/b"),
            ("hf://org/name@a%2541", .model, "org/name", "a%41"), ("hf://gpt2@a%252Fb", .model, "gpt2", "a%2Fb"),
        ] as [(String, HubReference.Kind, String, String?)]
    )
    func reads(_ text: String, _ kind: HubReference.Kind, _ name: String, _ revision: String?) throws {
        let reference = try HubReference(text)
        #expect(reference.kind == kind && reference.name == name && reference.revision == revision)
        #expect(try HubReference(reference.description) == reference)
    }

    @Test(arguments: [
        "", "hf:", "hf://", "hf:///", "hf://org/", "hf:///name", "hf://org//name", "hf://org/name/file.bin",
        "hf://datasets/org/name/file", "hf://../name", "hf://org/..", "hf://org/.name", "hf://org/name-", "hf://o rg/n",
        "hf://org/name?x=1", "hf://org/name#x", "hf://org/n%61me", "hf://user:secret@host/name", "hf://org/name@",
        "hf://secret@org/name", "HF://secret@org/name", "hf://datasets/secret@org/name",
        "HF://u:secret@org/name?x=secret",
        "hf://org/name@a b", "hf://org/name@..", "hf://org/name@a//b", "hf://org/name@/a", "hf://org/name@a%",
        "hf://org/name@%FF", "hf://org/name@a%00", "hf://org/name@.a", "https://org/name", "org/name",
        "hf://org/\(String(repeating: "n", count: 97))", "hf://\u{E9}/name",
    ])
    func refuses(_ text: String) {
        let error = #expect(throws: DownloadError.self) { try HubReference(text) }
        #expect(error?.code == .invalidURL && error?.message.contains("secret") == false)
    }

    @Test(arguments: [
        ("https://hub.example/org/name", "hf://org/name"), ("https://hub.example/org/name/", "hf://org/name"),
        ("https://HUB.example:443/org/name?x=1", "hf://org/name"),
        ("https://hub.example/org/name/tree/main", "hf://org/name@main"),
        ("https://hub.example/org/name/tree/refs%2Fpr%2F1", "hf://org/name@refs/pr/1"),
        ("https://hub.example/datasets/org/name/tree/v1", "hf://datasets/org/name@v1"),
        ("https://hub.example/spaces/org/name", "hf://spaces/org/name"),
        ("https://hub.example/gpt2/tree/main", "hf://gpt2@main"),
    ])
    func readsTheLinkOfAPage(_ link: String, _ expected: String) throws {
        let link = try #require(URL(string: link))
        #expect(HubReference(link: link, endpoint: try endpoint())?.description == expected)
    }

    @Test(arguments: [
        "https://other.example/org/name", "http://hub.example/org/name", "https://hub.example:8443/org/name",
        "https://hub.example/", "https://hub.example/org", "https://hub.example/docs/hub",
        "https://hub.example/org/name/resolve/main/a.bin", "https://hub.example/org/name/tree/main/folder",
        "https://hub.example/datasets", "https://hub.example/api/models", "https://u@hub.example/org/name",
        "https://hub.example/models/org",
    ])
    func passesOverOtherLinks(_ link: String) throws {
        let link = try #require(URL(string: link))
        #expect(HubReference(link: link, endpoint: try endpoint()) == nil)
    }

    @Test(arguments: ["https://hub.example", "https://hub.example/", "http://127.0.0.1:8080/mirror/"])
    func makesTheURLsOfTheHub(_ text: String) throws {
        let endpoint = try endpoint(text)
        let base = text.hasSuffix("/") ? String(text.dropLast()) : text
        let model = try HubReference("hf://org/name@refs/pr/1")
        let commit = String(repeating: "a1", count: 20)
        #expect(
            try model.revisionURL(endpoint: endpoint).absoluteString
                == base + "/api/models/org/name/revision/refs%2Fpr%2F1"
        )
        #expect(
            try HubReference("hf://gpt2").revisionURL(endpoint: endpoint).absoluteString
                == base + "/api/models/gpt2/revision/main"
        )
        #expect(
            try model.treeURL(endpoint: endpoint, commit: commit).absoluteString
                == base + "/api/models/org/name/tree/\(commit)?recursive=true"
        )
        #expect(
            try model.fileURL(endpoint: endpoint, commit: commit, path: "a b/c?.bin").absoluteString
                == base + "/org/name/resolve/\(commit)/a%20b/c%3F.bin"
        )
        let dataset = try HubReference("hf://datasets/org/name")
        #expect(
            try dataset.fileURL(endpoint: endpoint, commit: commit, path: "a").absoluteString
                == base + "/datasets/org/name/resolve/\(commit)/a"
        )
        #expect(throws: DownloadError.self) {
            try model.fileURL(endpoint: endpoint, commit: commit, path: "../../../api/whoami-v2")
        }
    }

    @Test func trapsOnNoText() {
        let alphabet = ["hf://", "org", "/", "name", "@", "%", "2F", "..", ".", "-", "datasets", "\u{E9}", " ", "\0"]
        for text in HostileStrings(of: alphabet, count: 5000, upTo: 8, seed: 12) {
            guard let reference = try? HubReference("hf://" + text) else { continue }
            #expect((try? HubReference(reference.description)) == reference, "\(text)")
            let url = URL(string: "https://hub.example").flatMap { try? reference.revisionURL(endpoint: $0) }
            #expect(url?.absoluteString.hasPrefix("https://hub.example/api/") == true, "\(text)")
        }
    }
}
