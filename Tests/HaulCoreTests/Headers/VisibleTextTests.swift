import Foundation
import Testing

@testable import HaulCore

struct VisibleTextTests {
    @Test(arguments: [
        ("\u{94D}\u{200D}\u{200B}", "\u{94D}"), ("a\u{202E}b", "ab"), ("\u{1B}[31mred", "[31mred"),
        ("#\u{FE0F}\u{20E3}", "#\u{FE0F}\u{20E3}"),
    ])
    func leavesOutWhatNobodySees(_ text: String, _ cleaned: String) {
        #expect(VisibleText.cleaned(text) == cleaned)
        #expect(VisibleText.cleaned(cleaned) == cleaned)
    }

    @Test(arguments: [
        ("plain", "plain"), ("caf\u{E9} \u{1F468}\u{200D}\u{1F469}", "caf\u{E9} \u{1F468}\u{200D}\u{1F469}"),
        ("a\nb\tc\u{2028}d", "a b c d"), ("\u{1B}]0;title\u{7}\u{9B}2J\u{7F}", "?]0;title??2J?"), ("a\u{202E}b", "a?b"),
    ])
    func makesOneLineOfAMessage(_ text: String, _ line: String) {
        #expect(VisibleText.line(text) == line)
        #expect(VisibleText.line(line) == line)
    }

    @Test func keepsControlCharactersOutOfErrors() throws {
        let error = DownloadError(.diskFailed, "/tmp/\u{1B}[2Jx cannot be read.", cause: "one\ntwo\u{0}", status: 7)
        #expect(error.message == "/tmp/?[2Jx cannot be read." && error.cause == "one two?")
        #expect(try JSONDecoder().decode(DownloadError.self, from: JSONEncoder().encode(error)) == error)
        let stored = Data(#"{"code":"diskFailed","message":"a\u001bb"}"#.utf8)
        #expect(try JSONDecoder().decode(DownloadError.self, from: stored).message == "a?b")
    }
}
