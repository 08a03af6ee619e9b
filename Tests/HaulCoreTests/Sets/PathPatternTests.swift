import Testing

@testable import HaulCore

struct PathPatternTests {
    @Test(arguments: [
        ("*.iso", "a.iso"), ("*.iso", "x/y/a.iso"), ("a", "a"), ("a", "x/a"), ("a", "a/b"), ("a", "x/a/b/c"),
        ("/a", "a"), ("/a", "a/b"), ("a/b", "a/b"), ("a/b", "a/b/c"), ("/a/b", "a/b"), ("a/", "a/b"), ("a/", "x/a/b"),
        ("a/*", "a/b"), ("a/*", "a/b/c"), ("**/a", "a"), ("**/a", "x/y/a"), ("a/**", "a/b"), ("a/**", "a/b/c"),
        ("a/**/b", "a/b"), ("a/**/b", "a/x/b"), ("a/**/b", "a/x/y/b"), ("a/**/**/b", "a/b"), ("**", "a/b"), ("*", "a"),
        ("a?c", "abc"), ("a?c", "a\u{E9}c"), ("[abc]", "b"), ("[a-c]", "b"), ("[!a-c]", "d"), ("[^a-c]", "d"),
        ("[]a]", "]"), ("[!]a]", "b"), ("[a-]", "-"), ("[\\]]", "]"), ("[[:digit:]x]", "7"), ("[[:digit:]x]", "x"),
        ("\\*", "*"), ("\\!a", "!a"), ("\\[a]", "[a]"), ("a**b", "axxb"), ("**.gguf", "x/y.gguf"), ("a*b*c", "aXbYbZc"),
        ("\u{E9}", "e\u{301}"), ("e\u{301}", "x/\u{E9}"), ("#a", "#a"), ("a b ", "a b "),
    ])
    func matches(_ pattern: String, _ name: String) throws {
        #expect(try PathPattern(pattern).matches(name))
    }

    @Test(arguments: [
        ("*.iso", "a.iso.txt"), ("*.iso", "a.ISO"), ("a", "ab"), ("a", "ba/c"), ("/a", "x/a"), ("a/b", "x/a/b"),
        ("a/", "a"), ("a/", "x/a"), ("a/*", "a"), ("a/*", "x/a/b"), ("a/**", "a"), ("a/**", "x/a/b"), ("a/**/b", "ab"),
        ("a/**/b", "a/xb"), ("a?c", "a/c"), ("a*c", "a/c"), ("a[/]c", "a/c"), ("[a-c]", "d"), ("[!a-c]", "b"),
        ("[c-a]", "b"), ("\\*", "a"), ("a**b", "a/b"), ("*/b", "b"), ("*/b", "x/y/b"), ("[[:upper:]]", "a"), ("?", ""),
    ])
    func doesNotMatch(_ pattern: String, _ name: String) throws {
        let pattern = try? PathPattern(pattern)
        #expect(pattern?.matches(name) != true)
    }

    @Test(arguments: ["", "/", "!a", "a//b", "a/../b", "./a", "..", "[a", "[", "[]", "[!]", "a\\", "[[:none:]]", "[a-"])
    func refusesATextThatIsNoPattern(_ text: String) {
        #expect {
            try PathPattern(text)
        } throws: { error in
            (error as? PathPattern.Unusable)?.sentence.hasSuffix(".") == true
        }
    }

    @Test func refusesAPatternThatIsTooLong() throws {
        _ = try PathPattern(String(repeating: "a", count: PathPattern.maximumBytes))
        #expect(throws: PathPattern.Unusable.self) {
            try PathPattern(String(repeating: "a", count: PathPattern.maximumBytes + 1))
        }
    }

    /// With a comparison that tries every split, this test would not end.
    @Test func endsForManyStars() throws {
        let name = String(repeating: "a", count: 1000)
        #expect(!(try PathPattern(String(repeating: "*a", count: 500) + "b").matches(name)))
        let folders = Array(repeating: "a", count: 500).joined(separator: "/")
        #expect(!(try PathPattern(String(repeating: "**/a/", count: 200) + "b").matches(folders)))
    }

    /// A pattern of gitignore by its definition: every split is tried.
    private func matches(_ pattern: [Character], _ name: [Character]) -> Bool {
        guard let first = pattern.first else { return name.isEmpty }
        let rest = Array(pattern.dropFirst())
        switch first {
        case "*": return (0...name.count).contains { matches(rest, Array(name.dropFirst($0))) }
        case "?": return !name.isEmpty && matches(rest, Array(name.dropFirst()))
        default: return name.first == first && matches(rest, Array(name.dropFirst()))
        }
    }

    @Test func agreesWithTryingEverySplitOfANameWithoutFolders() throws {
        var random = SplitMix64(seed: 6)
        for _ in 0..<4000 {
            func text(_ alphabet: [Character], _ count: ClosedRange<Int>) -> [Character] {
                (0..<Int.random(in: count, using: &random)).compactMap { _ in alphabet.randomElement(using: &random) }
            }
            let pattern = text(["a", "b", "*", "?"], 1...7)
            let name = text(["a", "b"], 1...7)
            #expect(
                try PathPattern(String(pattern)).matches(String(name)) == matches(pattern, name),
                "\(String(pattern)) and \(String(name))"
            )
        }
    }

    @Test func trapsOnNoText() {
        let alphabet = ["a", "/", "*", "**", "?", "[", "]", "!", "^", "-", "\\", ":", "[:alpha:]", ".", "e\u{301}"]
        var names = HostileStrings(of: alphabet, count: 4000, upTo: 8, seed: 7)
        while let text = names.next(), let name = names.next() {
            guard let pattern = try? PathPattern(text) else { continue }
            let isMatched = pattern.matches(name)
            // Everything below a matched name is matched.
            if isMatched, !name.hasSuffix("/") { #expect(pattern.matches(name + "/x"), "\(text) and \(name)") }
        }
    }
}
