import Foundation
import Testing

@testable import HaulKit

struct EntityTagTests {
    @Test(arguments: [
        ("\"xyzzy\"", false), ("W/\"xyzzy\"", true), ("\"\"", false), ("W/\"\"", true), ("\"W/\"", false),
        ("\"back\\slash!#~\"", false), ("\"ünï\"", false), ("\"1a-62f,b;gzip\"", false),
    ])
    func keepsTheTextVerbatim(_ text: String, _ isWeak: Bool) throws {
        let tag = try #require(EntityTag(text))
        #expect(tag.text == text)
        #expect(tag.isWeak == isWeak)
    }

    @Test(arguments: [
        "", "xyzzy", "\"", "W/", "W/\"", "W/xyzzy", "w/\"xyzzy\"", "\"xyzzy", "xyzzy\"", "\"a\"b\"", "\"a b\"",
        "\"a\tb\"",
        "\"a\0\"", "\"a\u{7F}\"", " \"a\"", "\"a\" ", "W/ \"a\"", "\"a\", \"b\"", "'a'", "*", "\"a\r\nb\"", "W/W/\"a\"",
    ])
    func refusesWhatIsNoEntityTag(_ text: String) {
        #expect(EntityTag(text) == nil)
    }

    @Test func refusesATagWhoseBytesWereLostInDecoding() {
        let latin1: [UInt8] = [0x22, 0xE4, 0x22]
        #expect(EntityTag(String(decoding: latin1, as: UTF8.self)) == nil)
    }

    // RFC 9110, 8.8.3.2, table 3.
    @Test(arguments: [
        ("W/\"1\"", "W/\"1\"", false, true), ("W/\"1\"", "W/\"2\"", false, false), ("W/\"1\"", "\"1\"", false, true),
        ("\"1\"", "\"1\"", true, true), ("\"1\"", "\"2\"", false, false),
    ])
    func matchesAsTheTableInTheRFC(_ left: String, _ right: String, _ strongly: Bool, _ weakly: Bool) throws {
        let (left, right) = (try #require(EntityTag(left)), try #require(EntityTag(right)))
        #expect(left.stronglyMatches(right) == strongly)
        #expect(right.stronglyMatches(left) == strongly)
        #expect(left.weaklyMatches(right) == weakly)
        #expect(right.weaklyMatches(left) == weakly)
    }

    @Test func comparesBytesNotCharacters() throws {
        let composed = try #require(EntityTag("\"\u{E9}\""))
        let decomposed = try #require(EntityTag("\"e\u{301}\""))
        #expect(composed.text == decomposed.text)
        #expect(composed != decomposed)
        #expect(!composed.stronglyMatches(decomposed))
        #expect(!composed.weaklyMatches(decomposed))
    }

    @Test func isStoredAsItsText() throws {
        let tag = try #require(EntityTag("W/\"a\""))
        let stored = try JSONEncoder().encode([tag])
        #expect(String(decoding: stored, as: UTF8.self).contains(#""W\/\"a\"""#))
        #expect(try JSONDecoder().decode([EntityTag].self, from: stored) == [tag])
    }

    @Test func refusesADamagedStore() {
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode([EntityTag].self, from: Data(#"["no quotes"]"#.utf8))
        }
    }

    @Test func neverTraps() {
        let alphabet = ["\"", "\"", "W/", "W", "/", "w", "a", "é", "\u{301}", " ", "\0", "\u{7F}", "\\", ",", "🦊"]
        var accepted = 0
        var read = 0
        for text in HostileStrings(of: alphabet, count: 4000, upTo: 6, seed: 2) {
            guard let tag = EntityTag(text) else { continue }
            read += 1
            accepted += 1
            #expect(tag.text.utf8.elementsEqual(text.utf8))
            #expect(tag.text.utf8.count(where: { $0 == UInt8(ascii: "\"") }) == 2)
            #expect(tag.stronglyMatches(tag) == !tag.isWeak)
            #expect(tag.weaklyMatches(tag))
        }
        #expect(read > 10)
        #expect(accepted > 10)
    }
}
