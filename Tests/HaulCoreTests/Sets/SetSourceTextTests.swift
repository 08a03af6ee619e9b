import Foundation
import Testing

@testable import HaulCore

struct SetSourceTextTests {
    private func source(_ text: String) throws -> SetSourceText {
        try SetSourceText(text, hub: URL(string: "https://hub.example"))
    }

    private func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

    @Test func goesByTheForm() throws {
        #expect(try source(" hf://org/name@v1\n") == .hub(HubReference("hf://org/name@v1")))
        #expect(try source("https://hub.example/org/name") == .hub(HubReference("hf://org/name")))
        #expect(try source("https://h/pub/SHA256SUMS") == .checksumList(url("https://h/pub/SHA256SUMS")))
        #expect(try source("https://h/a.iso.sha256?x=1") == .checksumList(url("https://h/a.iso.sha256?x=1")))
        #expect(try source("https://h/a.META4") == .metalink(url("https://h/a.META4")))
        #expect(try source("https://h/pub/?x=1") == .index(url("https://h/pub/?x=1")))
        #expect(try source("https://h/SHA256SUMS/") == .index(url("https://h/SHA256SUMS/")))
        #expect(try source("HTTP://h/") == .index(url("HTTP://h/")))
        let release = try #require(ReleaseReference(url("https://github.com/o/r/releases/tag/v1")))
        #expect(try source("https://github.com/o/r/releases/tag/v1") == .release(release))
    }

    @Test(arguments: ["SHA256SUMS", "./a/b", "/a b", "file:///a", "~/SUMS", "a:b", "://", "C:\\a"])
    func takesOtherTextsForPaths(_ text: String) throws {
        #expect(try source(text) == .file(text))
    }

    @Test(arguments: [
        ("", DownloadError.Code.invalidURL), (" \n", .invalidURL), ("https://h/a.iso", .invalidURL),
        ("https://", .invalidURL),
        ("hf://", .invalidURL), ("hf://org/name/file", .invalidURL), ("ftp://h/pub/", .unsupportedScheme),
        ("s3://u:secret@h/", .unsupportedScheme), ("https://h:99999/", .invalidURL),
    ])
    func refuses(_ text: String, _ code: DownloadError.Code) {
        let error = #expect(throws: DownloadError.self) { try source(text) }
        #expect(error?.code == code && error?.message.contains("secret") == false)
    }

    @Test(arguments: [
        ("hf://org/name@v1", "hf://org/name@v1"), ("HF://secret@org/name", "HF://***@org/name"),
        ("HF://u:secret@h/", "HF://***@h/"), ("https://u:secret@h/a?secret", "https://***@h/a?***"),
        ("ftp://u:secret@h/", "ftp://***@h/"), ("SHA256SUMS", "SHA256SUMS"),
    ])
    func showsNoSecrets(_ text: String, _ expected: String) { #expect(SetSourceText.shown(text) == expected) }

    @Test func takesNoLinkForOneOfAHubThatIsNotNamed() throws {
        #expect(throws: DownloadError.self) { try SetSourceText("https://hub.example/org/name", hub: nil) }
    }
}
