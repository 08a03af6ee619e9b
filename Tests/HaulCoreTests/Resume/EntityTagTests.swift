import Foundation
import Testing

@testable import HaulCore

struct EntityTagTests {
    @Test(arguments: [
        ("\"xyzzy\"", false), ("W/\"xyzzy\"", true), ("\"\"", false), ("W/\"\"", true), ("\"W/\"", false),
        ("\"back\\slash!#~\"", false), ("\"ünï\"", false), ("\"1a-62f,b;gzip\"", false),
    ])
    func keepsTheTextVerbatim(_ text: String, _ isWeak: Bool) {
        let tag = EntityTag(text)
        #expect(tag.text == text)
        #expect(tag.isWellFormed && tag.isWeak == isWeak)
    }

    @Test(arguments: [
        "", "xyzzy", "\"", "W/", "W/\"", "W/xyzzy", "w/\"xyzzy\"", "\"xyzzy", "xyzzy\"", "\"a\"b\"", "\"a b\"",
        "\"a\tb\"",
        "\"a\0\"", "\"a\u{7F}\"", " \"a\"", "\"a\" ", "W/ \"a\"", "\"a\", \"b\"", "'a'", "*", "\"a\r\nb\"", "W/W/\"a\"",
    ])
    func takesAMalformedTagForAWeakOne(_ text: String) {
        let tag = EntityTag(text)
        #expect(!tag.isWellFormed && tag.isWeak)
        #expect(!tag.stronglyMatches(tag) && tag.weaklyMatches(tag))
        for other in ["x" + text, "\"xyzzy\"", "W/\"xyzzy\"", "\"a\""] {
            #expect(!tag.weaklyMatches(EntityTag(other)) && !EntityTag(other).weaklyMatches(tag))
        }
    }

    @Test func takesATagWhoseBytesWereLostInDecodingForAWeakOne() {
        let latin1: [UInt8] = [0x22, 0xE4, 0x22]
        #expect(EntityTag(String(decoding: latin1, as: UTF8.self)).isWeak)
    }

    @Test(arguments: [
        ([], nil), (["\"a\"", "\"a\""], "\"a\""), (["\"a\"", "\"b\""], "\"a\", \"b\""),
        (["\"\u{E9}\"", "\"e\u{301}\""], "\"é\", \"é\""),
        ([""], ""),
    ])
    func readsTheFieldsOfAResponse(_ fields: [String], _ text: String?) {
        #expect(EntityTag(fields: fields)?.text == text)
    }

    // RFC 9110 §8.8.3.2, table 3.
    @Test(arguments: [
        ("W/\"1\"", "W/\"1\"", false, true), ("W/\"1\"", "W/\"2\"", false, false), ("W/\"1\"", "\"1\"", false, true),
        ("\"1\"", "\"1\"", true, true), ("\"1\"", "\"2\"", false, false),
    ])
    func matchesAsTheTableInTheRFC(_ left: String, _ right: String, _ strongly: Bool, _ weakly: Bool) {
        let (left, right) = (EntityTag(left), EntityTag(right))
        #expect(left.stronglyMatches(right) == strongly)
        #expect(right.stronglyMatches(left) == strongly)
        #expect(left.weaklyMatches(right) == weakly)
        #expect(right.weaklyMatches(left) == weakly)
    }

    @Test func comparesBytesNotCharacters() {
        let composed = EntityTag("\"\u{E9}\"")
        let decomposed = EntityTag("\"e\u{301}\"")
        #expect(composed.text == decomposed.text)
        #expect(composed != decomposed)
        #expect(!composed.stronglyMatches(decomposed))
        #expect(!composed.weaklyMatches(decomposed))
    }

    @Test func isStoredAsItsText() throws {
        let tag = EntityTag("W/\"a\"")
        let stored = try JSONEncoder().encode([tag])
        #expect(String(decoding: stored, as: UTF8.self).contains(#""W\/\"a\"""#))
        #expect(try JSONDecoder().decode([EntityTag].self, from: stored) == [tag])
    }

    @Test func isNoStrongTagAfterItWasDamagedInTheStore() throws {
        let damaged = try JSONDecoder().decode([EntityTag].self, from: Data(#"["no quotes"]"#.utf8))
        #expect(damaged.first?.isWeak == true)
    }

    @Test func neverTraps() {
        let alphabet = ["\"", "\"", "W/", "W", "/", "w", "a", "é", "\u{301}", " ", "\0", "\u{7F}", "\\", ",", "🦊"]
        var accepted = 0
        for text in HostileStrings(of: alphabet, count: 4000, upTo: 6, seed: 2) {
            let tag = EntityTag(text)
            #expect(tag.text.utf8.elementsEqual(text.utf8))
            #expect(tag.stronglyMatches(tag) == !tag.isWeak)
            #expect(tag.weaklyMatches(tag))
            guard tag.isWellFormed else { continue }
            accepted += 1
            #expect(tag.text.utf8.count(where: { $0 == UInt8(ascii: "\"") }) == 2)
        }
        #expect(accepted > 10)
    }
}
