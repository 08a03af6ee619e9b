import Testing

@testable import HaulCore

struct LinkHeaderTests {
    /// Returns `target|name=value|…` for each link.
    private func read(_ lines: String...) -> [String] {
        LinkHeader.parse(lines).map { link in
            ([link.target] + link.parameters.map { "\($0.name)=\($0.value)" }).joined(separator: "|")
        }
    }

    @Test func readsTheExamplesInTheRFC() {
        #expect(
            read("<http://example.com/TheBook/chapter2>; rel=\"previous\"; title=\"previous chapter\"")
                == ["http://example.com/TheBook/chapter2|rel=previous|title=previous chapter"]
        )
        #expect(read("</>; rel=\"http://example.net/foo\"") == ["/|rel=http://example.net/foo"])
        #expect(
            read(
                "</TheBook/chapter2>; rel=\"previous\"; title*=UTF-8'de'letztes%20Kapitel, "
                    + "</TheBook/chapter4>; rel=\"next\"; title*=UTF-8'de'n%c3%a4chstes%20Kapitel"
            ) == ["/TheBook/chapter2|rel=previous", "/TheBook/chapter4|rel=next"]
        )
    }

    @Test(arguments: [
        ("", []), (" , ,, ", []), ("<a>", ["a"]), ("<>", [""]), ("<a>,<b>", ["a", "b"]),
        (" , <a> ,, <b> , ", ["a", "b"]),
        ("<a,b;c>;d=1,<e>", ["a,b;c|d=1", "e"]), ("<a>;b=\"c,<d>;e\";f=g", ["a|b=c,<d>;e|f=g"]),
        ("<a>;b=\"c\\\"d\\\\e\"", ["a|b=c\"d\\e"]), ("<a>; b ; c= ;d", ["a|b=|c=|d="]), ("<a>;;;b=1;", ["a|b=1"]),
        ("<a> \t; \t B \t= \t1", ["a|b=1"]), ("<a>;b=1;b=2", ["a|b=1|b=2"]), ("<a>;b=\"\"", ["a|b="]),
        ("<a>;=1;c=2", ["a|c=2"]), ("<a>;b*=1;*=2;c=3", ["a|c=3"]), ("<a>;b==c", ["a|b==c"]),
        ("<a>;b='c,d'", ["a|b='c"]), ("<a>;b=\"c", ["a|b=c"]), ("<a>;b=\"c\\", ["a|b=c"]),
        ("<a>;b=c\"d\"", ["a|b=c\"d\""]),
        ("<a", []), ("a>;b", []), ("<a>,b,<c>", ["a"]), ("<a>b,<c>", ["a"]), ("<a>;b=1 c,<d>", ["a|b=1"]),
        ("<a>;b=\"c\"d,<e>", ["a|b=c"]), ("<a>,<b", ["a"]), ("<<a>>", ["<a"]), ("<a>;b=<c,d>", ["a|b=<c"]),
        ("<é>;b=\"é\"", ["é|b=é"]), ("<a\0>;\0=\0", ["a\0|\0=\0"]),
    ])
    func readsALine(_ line: String, _ links: [String]) {
        #expect(read(line) == links)
    }

    @Test func readsSeveralLinesEachOnItsOwn() {
        #expect(read("<a>;b=\"", "<c>", "garbage", "<d>;e") == ["a|b=", "c", "d|e="])
    }

    @Test func takesTheFirstRelationParameterOnly() throws {
        let link = try #require(LinkHeader.parse(["<a>; rel=\"Next\t duplicate \"; rel=prev"]).first)
        #expect(link.relations == ["next", "duplicate"])
        #expect(LinkHeader.parse(["<a>", "<a>;rel", "<a>;rel=\"\""]).allSatisfy { $0.relations.isEmpty })
        #expect(link["rel"] == "Next\t duplicate " && link["title"] == nil)
    }

    @Test func readsAnEndlessLine() {
        #expect(LinkHeader.parse([String(repeating: "<a>;b=\"c\",", count: 50_000)]).count == 50_000)
        #expect(LinkHeader.parse([String(repeating: "<", count: 200_000)]).isEmpty)
        #expect(LinkHeader.parse(["<a>" + String(repeating: ";", count: 200_000)]).count == 1)
        #expect(LinkHeader.parse(["<a>;b=\"" + String(repeating: "\\", count: 200_001)]).count == 1)
    }

    @Test func neverTraps() {
        let alphabet = [
            "<", ">", "<a>", "<http://a/>", ";", ";", ",", "=", "\"", "\\", "rel", "rel=", "duplicate", "*", "'", " ",
            "\t",
            "\0", "é", "\u{301}", "pri=1", "title*=UTF-8''x", "\u{FFFD}",
        ]
        var found = 0
        for text in HostileStrings(of: alphabet, count: 8000, upTo: 12, seed: 82) {
            for link in LinkHeader.parse([text]) {
                found += 1
                #expect(link.parameters.allSatisfy { !$0.name.isEmpty && !$0.name.hasSuffix("*") })
                #expect(!link.target.utf8.contains(UInt8(ascii: ">")))
            }
        }
        #expect(found > 100)
    }
}
