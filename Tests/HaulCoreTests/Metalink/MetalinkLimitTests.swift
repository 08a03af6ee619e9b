import Foundation
import Testing

@testable import HaulCore

struct MetalinkLimitTests {
    /// Returns `text` padded with comments and line feeds to exactly `bytes`.
    private func padded(_ text: String, to bytes: Int) -> Data {
        var data = Data(text.utf8)
        let line = Data("<!-- \(String(repeating: "p", count: 1000)) -->".utf8)
        while data.count + line.count <= bytes { data += line }
        return data + Data(repeating: 0x0A, count: bytes - data.count)
    }

    @Test func readsTheLargestDocumentAndRefusesALargerOne() throws {
        let largest = padded(MetalinkText.four(), to: 16 << 20)
        #expect(largest.count == 16 << 20)
        #expect(try Metalink(largest).files.count == 1)
        #expect(refusal(largest + [0x0A])?.contains("larger than 16 MiB") == true)
    }

    @Test func readsDeepElementsAndRefusesDeeperOnes() {
        func nested(_ depth: Int) -> String {
            // The elements are inside `<metalink>`, which counts as well.
            String(repeating: "<a>", count: depth - 1) + String(repeating: "</a>", count: depth - 1)
        }
        let file = "<file name=\"a\">\(MetalinkText.url)</file>"
        #expect(refusal(MetalinkText.four(files: file + nested(32))) == nil)
        #expect(refusal(MetalinkText.four(files: file + nested(33)))?.contains("32 deep") == true)
        #expect(refusal(String(repeating: "<a>", count: 1_000_000)) != nil)
        let abyss = MetalinkText.four(files: file + String(repeating: "<a>", count: 1_000_000))
        #expect(refusal(abyss)?.contains("32 deep") == true)
    }

    @Test func refusesTooManyFiles() {
        func files(_ count: Int) -> String {
            (0..<count).map { "<file name=\"\($0)\">\(MetalinkText.url)</file>" }.joined()
        }
        #expect(refusal(MetalinkText.four(files: files(10_000))) == nil)
        #expect(refusal(MetalinkText.four(files: files(10_001)))?.contains("more than 10000 files") == true)
    }

    @Test func refusesTooManyPiecesInAllFilesTogether() {
        var limits = Metalink.Limits()
        limits.pieces = 6
        func text(_ counts: [Int], type: String) -> String {
            MetalinkText.four(
                files: counts.enumerated().map { index, count in
                    let pieces = MetalinkText.pieces("5", Array(repeating: MetalinkText.sha1, count: count), type: type)
                    return "<file name=\"\(index)\">\(pieces)\(MetalinkText.url)</file>"
                }.joined()
            )
        }
        #expect(refusal(text([3, 3], type: "sha-1"), limits: limits) == nil)
        #expect(refusal(text([3, 4], type: "sha-1"), limits: limits)?.contains("more than 6 pieces") == true)
        #expect(refusal(text([3, 4], type: "unknown"), limits: limits)?.contains("more than 6 pieces") == true)
    }

    @Test func readsAHundredThousandPieces() throws {
        let count = 100_000
        let pieces = MetalinkText.pieces("1", Array(repeating: MetalinkText.md5, count: count), type: "md5")
        let file = try Metalink(text: MetalinkText.four("<size>\(count)</size>\(pieces)\(MetalinkText.url)")).files
            .first
        #expect(file?.pieces?.digests.count == count)
    }

    @Test(arguments: [("a", 64, true), ("a", 65, false), ("a", 6000, false)])
    func refusesTooManyAttributes(_ name: String, _ count: Int, _ isRead: Bool) {
        let attributes = (0..<count).map { "\(name)\($0)=\"\"" }.joined(separator: " ")
        let sentence = refusal(MetalinkText.four("<x \(attributes)/>" + MetalinkText.url))
        #expect(isRead ? sentence == nil : sentence?.contains("more than 64 attributes") == true)
    }

    @Test func refusesTooManyNamespacesWithinEachOther() {
        func declarations(_ count: Int, _ prefix: String) -> String {
            (0..<count).map { "xmlns:\(prefix)\($0)=\"urn:x\"" }.joined(separator: " ")
        }
        let beside = String(repeating: "<x \(declarations(60, "p"))/>", count: 10)
        #expect(refusal(MetalinkText.four(beside + MetalinkText.url)) == nil)
        let within = "<x \(declarations(40, "p"))><y \(declarations(40, "q"))/></x>"
        #expect(refusal(MetalinkText.four(within + MetalinkText.url))?.contains("more than 64 namespaces") == true)
        let many = "<x \(declarations(3000, "p"))/>"
        #expect(refusal(MetalinkText.four(many + MetalinkText.url))?.contains("more than 64 namespaces") == true)
    }

    /// Kinds of tags of up to 10 MB. The cases have names because a test report repeats its arguments.
    enum EndlessTag: CaseIterable {
        case attributes, attributesBehindABracket, namespaces, value, blanks

        var attributes: String {
            switch self {
            case .attributes: endless { "a\($0)=\"\"" }
            case .attributesBehindABracket: "a=\">\" " + endless { "a\($0)=\"\"" }
            case .namespaces: endless { "xmlns:a\($0)=\"urn:x\"" }
            case .value: "a=\"\(String(repeating: "a", count: 10_000_000))\""
            case .blanks: String(repeating: " ", count: 10_000_000)
            }
        }

        private func endless(_ attribute: (Int) -> String) -> String {
            (0..<50_000).map(attribute).joined(separator: " ")
        }
    }

    // The parser's time grows with the square of the attributes of a tag; 16 MiB of them would take hours.
    @Test(arguments: EndlessTag.allCases)
    func refusesAnEndlessTag(_ tag: EndlessTag) {
        #expect(refusal(MetalinkText.four("<x \(tag.attributes)/>" + MetalinkText.url))?.contains("64 KiB") == true)
    }

    @Test func refusesEndlessTextNamesAndComments() {
        let long = String(repeating: "a", count: 70_000)
        for element in ["<!--\(long)-->", "<x>\(long)</x>", "<\(long)/>", "<![CDATA[\(long)]]>", "<?a \(long)?>", long]
        {
            #expect(refusal(MetalinkText.four(element + MetalinkText.url))?.contains("64 KiB") == true)
        }
        #expect(refusal(MetalinkText.four() + long)?.contains("64 KiB") == true)
    }

    @Test(arguments: 0..<4)
    func joinsTextThatTheParserHandsOverInParts(_ offset: Int) throws {
        // The parser takes 128 KiB at a time, so some characters are split.
        let urls = (0..<20_000).map { "<url priority=\"\($0 + 1)\">https://one.example/é€🦊/\($0)?a&#38;b&lt;c</url>" }
        let text = MetalinkText.four(String(repeating: " ", count: offset) + urls.joined())
        let file = try #require(try Metalink(text: text).files.first)
        for (index, source) in file.sources.enumerated() {
            #expect(source.url.absoluteString.removingPercentEncoding == "https://one.example/é€🦊/\(index)?a&b<c")
        }
        let digits = Array(MetalinkText.sha256).map { $0 == "2" ? "&#50;" : "<![CDATA[\($0)]]>" }.joined()
        let hash = MetalinkText.four("<hash type=\"sha-256\">\(digits)</hash>" + MetalinkText.url)
        #expect(try Metalink(text: hash).files.first?.checksum?.hex == MetalinkText.sha256)
    }

    @Test func neverTraps() {
        let alphabet = [
            "<metalink xmlns=\"urn:ietf:params:xml:ns:metalink\">", "<metalink xmlns=\"http://www.metalinker.org/\">",
            "<file name=\"a\">", "<file name=\"../a\">", "<file>", "<files>", "<size>", "1", "99999999999999999999",
            "-",
            "</size>", "<pieces type=\"sha-1\" length=\"1\">", "<pieces type=\"md5\" length=\"0\">", "<pieces>",
            "</pieces>",
            "<hash>", "<hash type=\"sha-1\">", "<hash piece=\"9\">", "</hash>", MetalinkText.sha1, MetalinkText.url,
            "<url>",
            "</url>", "http://", "</file>", "</files>", "</metalink>", "<verification>", "</verification>",
            "<resources>",
            "</resources>", "<!--", "-->", "<![CDATA[", "]]>", "<?xml", "?>", "<?a", "&amp;", "&#0;", "&x;",
            "&#x10FFFF;",
            "&#xD800;", "\0", "\u{FEFF}", "é", "\u{FFFF}", "<", ">", "/", "\"", "'", "=", " ", "xmlns", "x:y", "<a:b>",
        ]
        var read = 0
        for text in HostileStrings(of: alphabet, count: 4000, upTo: 14, seed: 54) {
            let four = MetalinkText.four(MetalinkText.url + text)
            if let metalink = try? Metalink(text: four) {  // most of them are refused, which is not what is looked at
                read += 1
                #expect(metalink.files.allSatisfy { !$0.sources.isEmpty && !$0.name.isEmpty })
            }
            _ = refusal(text)
        }
        #expect(read > 10)
    }
}
