import Testing

@testable import HaulCore

struct HeaderFieldTests {
    @Test(arguments: [
        ("Accept: text/html", "Accept", "text/html"), ("A:b", "A", "b"), ("A: \t b ", "A", "b "), ("A:", "A", ""),
        ("X-Time: 12:30:00", "X-Time", "12:30:00"), ("A: é\ttab", "A", "é\ttab"),
        ("!#$%&'*+-.^_`|~9z: x", "!#$%&'*+-.^_`|~9z", "x"),
    ])
    func readsALine(_ line: String, _ name: String, _ value: String) {
        let field = HeaderField(line)
        #expect(field?.name == name && field?.value == value)
    }

    @Test(arguments: [
        "", "no colon", ": value", "A B: c", "A : c", "A\r\nB: c", "A: b\r\nEvil: c", "A: b\nEvil: c", "A: b\rc",
        "A: b\0",
        "A: \u{7F}", "Ä: b", "A(: b", "A\u{301}: b", "\tA: b", "A: b\r\n",
    ])
    func refusesWhatCouldSmuggleInAnotherField(_ line: String) { #expect(HeaderField(line) == nil) }

    @Test func neverLetsAControlCharacterThrough() {
        let alphabet = [
            "A", "A:", "b", " ", "\r", "\n", "\r\n", "\0", "\t", "é", "\u{85}", "\u{2028}", "X-Y", "\u{1B}", "\u{301}",
        ]
        var read = 0
        for line in HostileStrings(of: alphabet, count: 6000, upTo: 5, seed: 12) {
            guard let field = HeaderField(line) else { continue }
            read += 1
            let bytes = Array(field.value.utf8) + Array(field.name.utf8)
            #expect(!bytes.contains(10) && !bytes.contains(13) && !bytes.contains(0), "\(line.debugDescription)")
        }
        #expect(read > 50)
    }
}
