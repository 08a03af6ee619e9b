import Foundation
import Testing

@testable import HaulCore

struct MirrorLinksTests {
    private let base: URL

    init() throws { base = try #require(URL(string: "https://user:secret@origin.example/pub/a.iso")) }

    private func urls(_ fields: String...) -> [String] {
        MirrorLinks(fields, base: base).mirrors.map(\.source.url.absoluteString)
    }

    @Test func readsMirrorsAndDescriptions() {
        let links = MirrorLinks(
            [
                "<http://two.example/a.iso>; rel=duplicate; pri=2; geo=GB; depth=1",
                "<https://one.example/a.iso>; rel=\"duplicate\"; pri=1; pref, </mirror/a.iso>;rel=duplicate",
                "<a.iso.meta4>; rel=describedby; type=\"application/metalink4+xml\", <a.asc>; rel=describedby; "
                    + "type=\"application/pgp-signature\"",
            ],
            base: base
        )
        #expect(
            links.mirrors.map(\.source.url.absoluteString) == [
                "https://one.example/a.iso", "http://two.example/a.iso", "https://origin.example/mirror/a.iso",
            ]
        )
        #expect(links.mirrors.map(\.source.priority) == [1, 2, 999_999])
        #expect(links.mirrors.map(\.source.location) == [nil, "gb", nil])
        #expect(links.mirrors.map(\.sharesEntityTags) == [true, false, false])
        #expect(links.descriptions.map(\.absoluteString) == ["https://origin.example/pub/a.iso.meta4"])
    }

    @Test(arguments: [
        "<ftp://one.example/a>; rel=duplicate", "<file:///etc/passwd>; rel=duplicate", "<http://>; rel=duplicate",
        "<http://one.example:0/>; rel=duplicate", "<https://one.example/a>", "<https://one.example/a>; rel",
        "<https://one.example/a>; rel=duplicates", "<https://one.example/a>; rel=alternate; rel=duplicate",
        "<https://one.example/a>; rel*=UTF-8''duplicate", "<https://one.example/a>; rel=duplicate; anchor=\"/other\"",
        "<https://one .example/a>; rel=duplicate", "<https://one.example:x/>; rel=duplicate",
        "<>; rel=duplicate", "<https://origin.example/pub/a.iso>; rel=duplicate",
        "<https://x:y@origin.example/pub/a.iso>; rel=duplicate",
        "https://one.example/a; rel=duplicate", "<magnet:?xt=1>; rel=duplicate", "<javascript:1>; rel=duplicate",
    ])
    func ignoresWhatIsNoMirror(_ field: String) {
        #expect(urls(field) == [])
    }

    @Test func takesARelationAmongOthersInAnyCase() {
        #expect(urls("<https://one.example/a>; REL=\"alternate  Duplicate\"") == ["https://one.example/a"])
    }

    @Test func keepsNoUserInfoOfAMirror() {
        #expect(urls("<https://user:secret@one.example/a>; rel=duplicate") == ["https://one.example/a"])
        #expect(urls("<//two.example/a>; rel=duplicate") == ["https://two.example/a"])
        #expect(urls("</b>; rel=duplicate") == ["https://origin.example/b"])
    }

    @Test(arguments: ["0", "-1", "1000000", "x", "", "\"\"", "99999999999999999999999"])
    func takesAnOddPriorityForTheLowest(_ text: String) {
        let links = MirrorLinks(["<https://one.example/a>; rel=duplicate; pri=\(text)"], base: base)
        #expect(links.mirrors.map(\.source.priority) == [999_999])
    }

    @Test func keepsTheBestOfTooManyEachOnce() {
        let fields = (1...500).map { "<https://h\($0 % 250).example/a>; rel=duplicate; pri=\(501 - $0)" }
        let links = MirrorLinks([fields.joined(separator: ", ")], base: base)
        #expect(links.mirrors.map(\.source.priority) == Array(1...64))
        let again = (1...500).map { _ in "<https://one.example/a>; rel=duplicate" }
        #expect(MirrorLinks(again, base: base).mirrors.count == 1)
        let descriptions = (1...500).map { "<\($0 / 2)>; rel=describedby; type=application/metalink4+xml" }
        #expect(MirrorLinks(descriptions, base: base).descriptions.count == 64)
    }

    @Test(arguments: [
        ("application/metalink4+xml", 1), ("\"Application/Metalink4+XML; charset=utf-8\"", 1),
        ("application/metalink+xml", 0),
        ("text/xml", 0), ("\"\"", 0),
    ])
    func readsOnlyDescriptionsInMetalink(_ type: String, _ count: Int) {
        let links = MirrorLinks(["<a.meta4>; rel=describedby; type=\(type)"], base: base)
        #expect(links.descriptions.count == count && links.mirrors.isEmpty)
    }
}
