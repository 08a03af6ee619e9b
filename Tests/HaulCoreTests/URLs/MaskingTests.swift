import Foundation
import Testing

@testable import HaulCore

/// URLs shown to people or written to logs contain no secret.
struct MaskingTests {
    @Test(arguments: [
        ("https://h/a.iso", "https://h/a.iso"), ("https://h:8443/a%20b.iso", "https://h:8443/a%20b.iso"),
        ("https://h/a?token=secret", "https://h/a?***"), ("https://h/a?", "https://h/a?***"),
        ("https://user:secret@h/a", "https://***@h/a"), ("https://secret@h/a", "https://***@h/a"),
        ("https://:secret@h/a", "https://***@h/a"), ("https://h/a#secret", "https://h/a"),
        ("https://u:secret@h/a?b=secret#secret", "https://***@h/a?***"),
        ("https://u:se%40cret%3A@h/a", "https://***@h/a"),
    ])
    func masksURLs(_ text: String, _ masked: String) {
        #expect(link(text).masked == masked)
    }

    /// Mistyped URLs, whose user info is not recognised as a part of the URL.
    @Test(arguments: [
        "user:secret@h/f", "http//user:secret@h/f", "//user:secret@", "http:/user:secret@h:1/f", "http:user:secret@h/f",
        "://u:secret@h/", "http;//u:secret@h/x", "http:///u:secret@h/", "u:secret%40h/x", "u:secret@secret@h",
        "h/f?secret",
        "x:y#secret",
    ])
    func masksWhatHasNoHost(_ text: String) {
        if let url = URL(string: text) { #expect(!url.masked.contains("secret"), "\(url.masked)") }
        #expect(!URL.maskedWithoutHost(text).contains("secret"))
    }

    @Test func masksRelativeURLs() throws {
        let url = try #require(URL(string: "a?secret", relativeTo: link("https://u:secret@h/b")))
        #expect(!url.masked.contains("secret"))
    }

    @Test func neverShowsASecretInWhateverPlace() {
        let alphabet = ["https://", "u:", "SECRET", "@", ":", "/", "h", "?", "#", "&", "=", "%40", "[", "]", ";"]
        var masked = 0
        for text in HostileStrings(of: alphabet, count: 8000, upTo: 9, seed: 10) {
            guard let url = URL(string: text), let host = url.host, !host.isEmpty,
                !host.uppercased().contains("SECRET"),
                !url.path.contains("SECRET"), url.scheme == "https"
            else { continue }
            masked += 1
            #expect(!url.masked.contains("SECRET"), "\(text) -> \(url.masked)")
        }
        #expect(masked > 20)
    }

    @Test func takesTheUserInfoOutAndNothingElse() {
        #expect(link("https://u:p@h:1/a?b#c").withoutUserInfo().absoluteString == "https://h:1/a?b#c")
        #expect(link("https://h/a%2Fb?b").withoutUserInfo().absoluteString == "https://h/a%2Fb?b")
        #expect(link("https://u@h/a%2Fb?x=%41").withoutUserInfo().absoluteString == "https://h/a%2Fb?x=%41")
    }

    @Test func takesTheUserInfoOfAnotherURLAndNothingElse() {
        #expect(
            link("https://h:1/a%2Fb?b").withUserInfo(of: link("https://u:p%40@x/y")).absoluteString
                == "https://u:p%40@h:1/a%2Fb?b"
        )
        #expect(link("https://h/a").withUserInfo(of: link("https://u@x/y")).absoluteString == "https://u@h/a")
        #expect(link("https://h/a").withUserInfo(of: link("https://x/y")).absoluteString == "https://h/a")
    }

    @Test func namesOnlyTheHostInErrors() {
        var machine = DownloadMachine(
            .init(request: .init(link("https://user:secret@files.example/secret?secret"), to: .folder(path: "/d"))),
            seed: 1
        )
        for event in [.slotGranted, .recovered(nil)] as [DownloadMachine.Event] {
            _ = machine.handle(event, at: .start)
        }
        let id = DownloadMachine.ConnectionID(number: 1)
        _ = machine.handle(.connectionEnded(id, .failed(TransportError(.tlsRefused), .zero)), at: .start)
        guard case .failed(let error) = machine.state else {
            Issue.record("\(machine.state)")
            return
        }
        #expect(error.message.contains("files.example") && !error.description.contains("secret"))
    }
}

/// Texts of programs and applications that contain URLs.
struct MaskedTextTests {
    static let url = URL(string: "https://us%20er:pass%2Fword@files.example/a?token=abc%2Bdef&n=7")

    @Test(arguments: [
        ("", ""), ("no URL at all", "no URL at all"), (" two  blanks\n", " two  blanks\n"),
        (
            "at https://us%20er:pass%2Fword@files.example/a?token=abc%2Bdef&n=7, twice",
            "at https://***@files.example/a?***, twice"
        ),
        ("pass/word, pass%2Fword", "***, ***"), ("token=abc%2Bdef&n=7 abc+def 7", "*** *** 7"),
        ("URL='http://u:p@h.example/x?sig=1'.", "URL='http://***@h.example/x?***'."),
        ("http://h.example/plain (http://h.example/x)", "http://h.example/plain (http://h.example/x)"),
        ("http://h.example/x?sig=1: It ended.", "http://h.example/x?***: It ended."),
        ("the list “http://h.example/x?sig=1”", "the list “http://h.example/x?***”"),
        ("http://h/?to=http://a:b@c/?d", "http://h/?***http://***@c/?***"), ("http://u:p[@h/?x", "http://***@h/?***"),
    ])
    func hidesWhatURLsHide(_ text: String, _ shown: String) {
        #expect(URL.maskedText(text, knowing: Self.url) == shown)
        #expect(URL.maskedText(shown, knowing: Self.url) == shown)
    }
}
