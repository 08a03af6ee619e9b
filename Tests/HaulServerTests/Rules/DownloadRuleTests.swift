import Foundation
import HaulCore
import Testing

@testable import HaulServer

/// Reading rules, and finding out whether they apply.
@Suite struct DownloadRuleTests {
    private func rule(_ json: String) throws -> DownloadRule {
        guard case .object(let fields) = JSONValue(text: json) else { throw Problem.badRequest("no object") }
        return try DownloadRule(fields, place: "rules[0].")
    }

    private func matches(_ json: String, _ url: String, name: String? = nil, type: String? = nil) throws -> Bool {
        try rule(json).matches(RuleTarget(try url.downloadURL(), name: name, type: type))
    }

    @Test(arguments: [
        ("example.org", "https://example.org/a", true), ("example.org", "https://EXAMPLE.org./a", true),
        ("Example.ORG", "https://files.example.org:8080/a", true), ("*.example.org", "https://a.example.org/", true),
        (".example.org", "https://example.org/", true), ("example.org", "https://badexample.org/a", false),
        ("example.org", "https://example.org.evil.net/a", false), ("org", "https://example.org/a", true),
        ("bücher.example", "https://xn--bcher-kva.example/a", true),
        ("xn--bcher-kva.example", "https://bücher.example/a", true),
        ("BÜCHER.example", "https://www.bücher.example/", true),
        ("127.0.0.1", "http://127.0.0.1:81/a", true), ("27.0.0.1", "http://127.0.0.1/a", false),
        ("::1", "http://[::1]:81/a", true), ("[::1]", "http://[::1]/a", true), ("::1", "http://[::2]/a", false),
        ("example.org", "https://user:example.org@other.net/a", false),
    ])
    func aHostIncludesItsSubdomains(_ host: String, _ url: String, _ isMet: Bool) throws {
        #expect(try matches(#"{"hosts": ["\#(host)"], "group": "A"}"#, url) == isMet)
    }

    @Test(arguments: [
        "", " ", ".", "a b", "a/b", "https://example.org", "a@b", "example.org:80", "a?b", "a#b", "*", "%41", "\\u0000",
    ])
    func aTextThatIsNoHostIsRefused(_ host: String) {
        #expect(throws: Problem.self) { try rule(#"{"hosts": ["\#(host)"], "group": "A"}"#) }
    }

    @Test(
        arguments: [
            ("pdf", "https://h/a.PDF", nil, true), (".Pdf", "https://h/a.pdf?x=.zip", nil, true),
            ("pdf", "https://h/apdf", nil, false), ("pdf", "https://h/.pdf", nil, false),
            ("tar.gz", "https://h/a.tar.gz", nil, true), ("gz", "https://h/a.tar.gz", nil, true),
            ("tar.gz", "https://h/a.gz", nil, false), ("pdf", "https://h/view?id=1", "Paper.pdf", true),
            ("pdf", "https://h/a.pdf", "a.txt", false), ("pdf", "https://h/a.pdf", "Paper", true),
            ("pdf", "https://h/a%2Epdf", nil, true), ("İ", "https://h/a", "a.İ", true),
        ] as [(String, String, String?, Bool)]
    )
    func anExtensionIsTheEndOfTheName(_ end: String, _ url: String, _ name: String?, _ isMet: Bool) throws {
        #expect(try matches(#"{"extensions": ["\#(end)"], "folder": "a"}"#, url, name: name) == isMet)
    }

    @Test(
        arguments: [
            ("video/*", "https://h/a.mkv", nil, true), ("Video", "https://h/a.MP4", nil, true),
            ("video", "https://h/a.pdf", nil, false), ("video", "https://h/master.m3u8", nil, true),
            ("video/*", "https://h/live", "application/x-mpegURL", true),
            ("application/pdf", "https://h/view", "application/PDF; a=b", true),
            ("application/pdf", "https://h/a.pdf", "text/html", false),
            ("application/pdf", "https://h/a.pdf", "application/octet-stream", true),
            ("video/mp4", "https://h/a.mkv", nil, false),
            ("text/*", "https://h/a.csv", nil, true), ("application/octet-stream", "https://h/a", nil, true),
        ] as [(String, String, String?, Bool)]
    )
    func aTypeIsTheStatedOneOrThatOfTheExtension(_ type: String, _ url: String, _ stated: String?, _ isMet: Bool) throws
    {
        #expect(try matches(#"{"types": ["\#(type)"], "connections": 2}"#, url, type: stated) == isMet)
    }

    @Test func everyConditionMustBeMet() throws {
        let json = #"{"hosts": ["a.org", "b.org"], "extensions": ["pdf"], "types": ["application/pdf"], "folder": "x"}"#
        #expect(try matches(json, "https://b.org/f.pdf"))
        #expect(try !matches(json, "https://c.org/f.pdf"))
        #expect(try !matches(json, "https://b.org/f.zip"))
        #expect(try !matches(json, "https://b.org/f.pdf", type: "text/html"))
    }

    @Test(arguments: [
        (#"{"group": "A"}"#, "rules[0].hosts, extensions and types are empty. A rule needs one of them."),
        (#"{"hosts": ["a.org"]}"#, "rules[0].folder, group and connections are missing. A rule needs one of them."),
        (#"{"host": "a.org", "group": "A"}"#, "There is no field named rules[0].host."),
        (#"{"hosts": "a.org", "group": "A"}"#, "rules[0].hosts has a wrong type or value."),
        (#"{"hosts": ["a.org"], "connections": 0}"#, "rules[0].connections is a number from 1 to 64."),
        (
            #"{"extensions": ["a/b"], "group": "A"}"#,
            #"rules[0].extensions has "a/b", which is no extension of a file."#
        ),
        (#"{"extensions": ["."], "group": "A"}"#, #"rules[0].extensions has "", which is no extension of a file."#),
        (
            #"{"types": ["a/b/c"], "group": "A"}"#,
            "rules[0].types has a/b/c, which is no media type like application/pdf or video/*."
        ), (#"{"types": ["a\n"], "group": "A"}"#, "A value of rules[0].types has control characters."),
        (#"{"hosts": ["a.org"], "command": "/bin/sh"}"#, "There is no field named rules[0].command."),
    ])
    func aWrongRuleIsNamed(_ json: String, _ message: String) {
        let problem = #expect(throws: Problem.self) { try rule(json) }
        #expect(problem?.detail == message)
    }

    @Test func aRuleIsKeptAsItWasWritten() throws {
        let json = """
            {"connections":4,"extensions":["pdf"],"folder":"a","group":"A","hosts":["bücher.example"],"name":"N",\
            "types":["video/*"]}
            """
        let read = try rule(json)
        #expect(read.json.jsonText == json)
        #expect(try JSONDecoder().decode(DownloadRule.self, from: JSONEncoder().encode(read)) == read)
    }
}
