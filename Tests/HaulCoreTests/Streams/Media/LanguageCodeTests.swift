import Testing

@testable import HaulCore

struct LanguageCodeTests {
    @Test(arguments: [
        ("de", "deu"), ("de-AT", "deu"), ("EN_us", "eng"), ("fil", "fil"), ("zh-Hans", "zho"), ("x", "und"),
        ("", "und"), ("äöü", "und"), ("qq", "und"),
    ])
    func packsTheThreeLettersOfATag(_ tag: String, _ letters: String) {
        let code = letters.utf8.reduce(0 as UInt16) { $0 << 5 | UInt16($1 - 0x60) }
        #expect(LanguageCode.packed(tag) == code)
    }
}
