import Testing

@testable import HaulCore

/// Variables (rule 5).
struct PlaylistScopeTests {
    private func target(
        _ uri: String,
        _ definitions: String...,
        url: String = "https://h/d/list.m3u8?token=a%2Fb&empty=&x=1",
        imports: [String: String] = [:]
    ) throws(StreamError) -> String? {
        let lines = definitions.map { "#EXT-X-DEFINE:" + $0 }.joined(separator: "\n")
        let text = PlaylistText.body(lines, "#EXTINF:1,", uri)
        return try PlaylistText.media(text, url: url, imports: imports).segments.first?.url.target
    }

    @Test func substitutesAVariable() throws {
        #expect(try target("{$a}/{$b}.ts", "NAME=\"a\",VALUE=\"x\"", "NAME=\"b\",VALUE=\"{$a}y\"") == "/d/x/xy.ts")
    }

    @Test func importsAVariableOfTheMultivariantPlaylist() throws {
        #expect(try target("{$a}.ts", "IMPORT=\"a\"", imports: ["a": "x"]) == "/d/x.ts")
        #expect(throws: StreamError.self) { try target("{$a}.ts", "IMPORT=\"b\"", imports: ["a": "x"]) }
        #expect(throws: StreamError.self) { try target("{$a}.ts", imports: ["a": "x"]) }
    }

    @Test func takesADecodedParameterOfThePlaylistsURL() throws {
        #expect(try target("{$token}.ts", "QUERYPARAM=\"token\"") == "/d/a/b.ts")
        #expect(throws: StreamError.self) { try target("{$empty}.ts", "QUERYPARAM=\"empty\"") }
        #expect(throws: StreamError.self) { try target("{$none}.ts", "QUERYPARAM=\"none\"") }
    }

    @Test(arguments: [
        "NAME=\"a\"", "VALUE=\"x\"", "NAME=\"a\",VALUE=\"x\",IMPORT=\"a\"", "NAME=\"a\",QUERYPARAM=\"x\",VALUE=\"y\"",
        "NAME=\"\",VALUE=\"x\"", "NAME=\"a b\",VALUE=\"x\"", "NAME=\"a\",VALUE=\"{$later}\"",
    ])
    func refusesADefinitionOfNothingOrOfTwoThings(_ definition: String) {
        #expect(throws: StreamError.self) { try target("a.ts", definition) }
    }

    @Test func refusesASecondDefinitionAndAnUndefinedVariable() {
        #expect(throws: StreamError.self) { try target("a.ts", "NAME=\"a\",VALUE=\"x\"", "NAME=\"a\",VALUE=\"x\"") }
        #expect(throws: StreamError.self) { try target("a.ts", "NAME=\"x\",VALUE=\"x\"", "QUERYPARAM=\"x\"") }
        #expect(throws: StreamError.self) { try target("{$a}.ts") }
        #expect(throws: StreamError.self) { try target("{$a}.ts", "NAME=\"A\",VALUE=\"x\"") }
    }

    @Test(arguments: [("{a}.ts", "/d/%7Ba%7D.ts"), ("{$}.ts", "/d/%7B$%7D.ts"), ("{$a", "/d/%7B$a"), ("a{", "/d/a%7B")])
    func leavesAloneWhatIsNoReference(_ uri: String, _ expected: String) throws {
        #expect(try target(uri) == expected)
    }

    @Test func substitutesOnce() throws {
        #expect(try target("x?{$a}", "NAME=\"a\",VALUE=\"{$\"", "NAME=\"b\",VALUE=\"y\"") == "/d/x?{$")
        #expect(try target("x?{$a}b}", "NAME=\"a\",VALUE=\"{$\"", "NAME=\"b\",VALUE=\"y\"") == "/d/x?{$b}")
    }

    @Test func substitutesInAttributes() throws {
        let text = PlaylistText.body(
            "#EXT-X-DEFINE:NAME=\"k\",VALUE=\"secret\"",
            "#EXT-X-DEFINE:NAME=\"iv\",VALUE=\"0x1\"",
            "#EXT-X-KEY:METHOD=AES-128,URI=\"{$k}.key\",IV={$iv}",
            "#EXTINF:1,",
            "a.ts"
        )
        let key = try PlaylistText.media(text).segments.first?.key
        #expect(key?.url.target == "/talk/secret.key")
        #expect(key?.statedVector?.last == 1)
    }

    @Test func growsNoFurtherThanItsBounds() {
        var lines = ["#EXT-X-DEFINE:NAME=\"v0\",VALUE=\"\(String(repeating: "x", count: 1000))\""]
        for index in 1..<100 {
            lines.append("#EXT-X-DEFINE:NAME=\"v\(index)\",VALUE=\"{$v\(index - 1)}{$v\(index - 1)}\"")
        }
        #expect(PlaylistText.refusal(PlaylistText.body(lines.joined(separator: "\n")))?.message.contains("KiB") == true)
        let many = (0..<1001).map { "#EXT-X-DEFINE:NAME=\"v\($0)\",VALUE=\"\"" }.joined(separator: "\n")
        #expect(PlaylistText.refusal(PlaylistText.body(many))?.message.contains("variables") == true)
        var limits = StreamLimits()
        limits.addressBytes = 100_000
        let uses = String(repeating: "#EXT-X-KEY:METHOD=\"{$v0}\"\n", count: 200)
        #expect(
            PlaylistText.refusal(PlaylistText.body(lines[0], uses), limits: limits)?.message.contains("MiB") == true
        )
    }

    @Test(arguments: [
        "https://h/d/l.m3u8?t=1", "http://H:81", "https://h/a/../b{}/l.m3u8", "https://h/x/y/", "https://h?a/b",
    ])
    func resolvesEachReferenceAsAnyURL(_ base: String) throws {
        let url = try #require(HTTPURL(base))
        var scope = PlaylistScope(url: url, imports: [:], limits: StreamLimits())
        let parts = ["a", "b.ts", "/", "..", ".", "?", "&x=1", "%20", ":", "@", "http://", "~", " ", "'", "\\"]
        for text in HostileStrings(of: parts, count: 3000, upTo: 6, seed: 4) where !text.isEmpty {
            let resolved = try? scope.url(Array(text.utf8)[...], line: 1)
            #expect(resolved == HTTPURL(text, relativeTo: url)?.withoutUserInfo, "\(text)")
        }
    }
}
