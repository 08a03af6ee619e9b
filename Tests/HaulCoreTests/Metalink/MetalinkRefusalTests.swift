import Foundation
import Testing

@testable import HaulCore

struct MetalinkRefusalTests {
    private static let most = String(repeating: "1", count: 39)
    private static let long = String(repeating: "9", count: 400)

    @Test(arguments: [
        "", " ", "x", "<", "<a", "<?xml", "<?xml ", "<?xml version=\"1.0\"?>", "<metalink>", "{}", "&amp;",
        "<metalink xmlns=\"urn:ietf:params:xml:ns:metalink\"",
        "<metalink xmlns=\"urn:ietf:params:xml:ns:metalink\"/>",
        "<metalink xmlns=\"urn:ietf:params:xml:ns:metalink\"></metalink>",
        MetalinkText.four(files: ""), String(MetalinkText.four().dropLast()),
        String(MetalinkText.four().dropLast("</metalink>".count)), MetalinkText.four() + "x",
        MetalinkText.four() + "<a/>",
        "x" + MetalinkText.four(), "\n" + MetalinkText.four(), MetalinkText.four() + MetalinkText.four(),
        MetalinkText.four("<url>https://one.example/</URL>"), MetalinkText.four("\u{1}" + MetalinkText.url),
        MetalinkText.four("<url>https://one.example/?a=1&b=2</url>"), MetalinkText.four(MetalinkText.url + "&#0;"),
        MetalinkText.four("<p:url>https://one.example/</p:url>"),
        MetalinkText.four("<a b=\"1\" b=\"2\"/>" + MetalinkText.url),
        MetalinkText.four(MetalinkText.url + "]]>"), MetalinkText.four(MetalinkText.url + "<![CDATA["),
        "<?xml version=\"1.0\"?>" + MetalinkText.four(),
    ])
    func refusesWhatIsNoWholeDocument(_ text: String) {
        #expect(refusal(text)?.hasPrefix("This Metalink document cannot be used: it") == true)
    }

    @Test(arguments: [
        "<metalink>", "<metalink xmlns=\"\">", "<metalink xmlns=\"urn:ietf:params:xml:ns:metalink4\">",
        "<metalink xmlns=\"URN:ietf:params:xml:ns:metalink\">", "<metalink xmlns=\"http://www.metalinker.org\">",
        "<metalink xmlns:m=\"urn:ietf:params:xml:ns:metalink\">",
        "<Metalink xmlns=\"urn:ietf:params:xml:ns:metalink\">",
    ])
    func refusesOtherNamespaces(_ opening: String) {
        let name = opening.contains("Metalink") ? "Metalink" : "metalink"
        let text = "\(opening)<file name=\"a\">\(MetalinkText.url)</file></\(name)>"
        #expect(refusal(text)?.contains("no Metalink") == true)
    }

    @Test func doesNotMixTheVersions() {
        let four = MetalinkText.four().replacing("urn:ietf:params:xml:ns:metalink", with: "http://www.metalinker.org/")
        let three = MetalinkText.three().replacing(
            "http://www.metalinker.org/",
            with: "urn:ietf:params:xml:ns:metalink"
        )
        #expect(refusal(four)?.contains("names no file") == true)
        #expect(refusal(three)?.contains("names no file") == true)
        #expect(refusal(MetalinkText.three()) == nil)
    }

    @Test(arguments: [
        "", ".", "..", "/", "/etc/passwd", "//a", "./a", "../a", "a/../b", "a/..", "a/.", "a//b", "a/", "../../a",
        "\\a",
        "..\\a", "a\\b", "a/..\u{200B}/b", "a/ .. /b", ".. /a", "a/\u{202E}/b", "-", "...", "C:\\a", " / ",
        "a/\u{301}/..", "a&#10;/..&#9;/b", String(repeating: "a/", count: 600) + "a",
    ])
    func refusesANameThatIsNone(_ name: String) {
        #expect(refusal(MetalinkText.four(name: name))?.hasSuffix("\u{201D} is no name for a file.") == true)
    }

    @Test(arguments: [
        ("a.iso", "a.iso"), ("a/b/c.iso", "a/b/c.iso"), (".ssh/authorized_keys", "ssh/authorized_keys"),
        ("-rf/--help", "rf/help"), ("CON/aux.txt", "_CON/_aux.txt"), ("a:b/c?d", "a_b/c_d"),
        ("a.haulpart/b", "a_haulpart/b"),
        ("..a/b..", "a/b"), ("%2e%2e%2fa", "%2e%2e%2fa"), ("~/a", "_/a"), ("~user/~", "_user/_"), ("C:/a", "C_/a"),
        ("a&#9;b", "ab"),
        ("a/\u{301}b", "a/\u{301}b"), ("invoice\u{202E}fdp.exe", "invoicefdp.exe"),
    ])
    func makesEveryPartOfANameSafe(_ raw: String, _ name: String) throws {
        #expect(try Metalink(text: MetalinkText.four(name: raw)).files.first?.name == name)
    }

    @Test func refusesNamelessFilesAndTwoOfOneName() {
        let file = "<file name=\"a\">\(MetalinkText.url)</file>"
        #expect(refusal(MetalinkText.four(files: "<file>\(MetalinkText.url)</file>"))?.contains("no name") == true)
        #expect(refusal(MetalinkText.four(files: file + file))?.contains("two files") == true)
        let dotted = file.replacing("\"a\"", with: "\".a\"")
        #expect(refusal(MetalinkText.four(files: file + dotted))?.contains("two files") == true)
    }

    @Test(arguments: [
        "", " ", "-1", "+1", "1.5", "1e3", "0x10", "1,000", "٣", "4611686018427387905", "9223372036854775807",
        "9223372036854775808", "18446744073709551616", "340282366920938463463374607431768211456", long, "1<x/>",
    ])
    func refusesASizeThatIsNone(_ size: String) {
        let text = MetalinkText.four("<size>\(size)</size>\(MetalinkText.url)")
        #expect(refusal(text)?.contains("the file a.iso has a size that is none") == true)
    }

    @Test func refusesTwoDigestsOfOneAlgorithm() throws {
        func hash(_ type: String, _ digit: Character, _ count: Int) -> String {
            "<hash type=\"\(type)\">\(String(repeating: digit, count: count))</hash>"
        }
        for digits in ["ab", "aba", "aab"] {
            let hashes = digits.map { hash("sha-256", $0, 64) }.joined()
            let reason = refusal(MetalinkText.four(hashes + MetalinkText.url))
            #expect(reason?.contains("two digests of one algorithm") == true, "\(digits)")
        }
        let same = hash("sha-256", "a", 64) + hash("sha-256", "A", 64)
        #expect(try Metalink(text: MetalinkText.four(same + MetalinkText.url)).files.first?.checksum != nil)
        let other = hash("sha-256", "a", 64) + hash("sha-256", "b", 64) + hash("sha-512", "c", 128)
        let file = try Metalink(text: MetalinkText.four(other + MetalinkText.url)).files.first
        #expect(file?.checksum?.algorithm == .sha512)
    }

    @Test func readsTheLargestSize() throws {
        let text = MetalinkText.four("<size> 4611686018427387904\n</size>\(MetalinkText.url)")
        #expect(try Metalink(text: text).files.first?.size == 1 << 62)
        #expect(
            refusal(MetalinkText.four("<size>1</size><size>2</size>\(MetalinkText.url)"))?.contains("two sizes") == true
        )
    }

    @Test(arguments: [
        "", "0", "-1", "-9223372036854775808", "+5", "1.5", "x", "4611686018427387905", "9223372036854775808", long,
    ])
    func refusesAPieceLengthThatIsNone(_ length: String) {
        let pieces = MetalinkText.pieces(length, [MetalinkText.sha1])
        #expect(refusal(MetalinkText.four(pieces + MetalinkText.url))?.contains("pieces of a length") == true)
        #expect(refusal(MetalinkText.three(verification: pieces))?.contains("pieces of a length") == true)
    }

    @Test func refusesPiecesWithoutALength() {
        let pieces = "<pieces type=\"sha-1\"><hash>\(MetalinkText.sha1)</hash></pieces>"
        #expect(refusal(MetalinkText.four(pieces + MetalinkText.url))?.contains("pieces of a length") == true)
    }

    @Test(arguments: [
        (1, "4", 0), (1, "4", 2), (4, "4", 2), (5, "4", 1), (8, "4", 3), (0, "4", 1), (1 << 62, "1", 3),
        (1 << 62, "4611686018427387904", 2), (1, "4611686018427387904", 2),
    ])
    func refusesPiecesThatDoNotMakeUpTheSize(_ size: Int64, _ length: String, _ count: Int) {
        let pieces = MetalinkText.pieces(length, Array(repeating: MetalinkText.sha1, count: count))
        let text = MetalinkText.four("\(pieces)<size>\(size)</size>\(MetalinkText.url)")
        #expect(refusal(text)?.contains("do not make up its size") == true)
    }

    // 39 digits, with an invalid last character or prefix.
    @Test(arguments: [
        "", " ", "0", "zz", "\(most)", "\(most)ab", "\(MetalinkText.sha256)", "0x\(most)", "-\(most)", "\(most)a:",
        "\(most)é",
        "\(most)<x/>a", "\(most)a&#xA0;", "\(most)g", "sha-1:\(most)a",
    ])
    func refusesADigestThatIsNone(_ digest: String) {
        let hash = "<hash type=\"sha-1\">\(digest)</hash>"
        #expect(refusal(MetalinkText.four(hash + MetalinkText.url))?.contains("digest that is none") == true)
        #expect(refusal(MetalinkText.three(verification: hash))?.contains("digest that is none") == true)
        let pieces = MetalinkText.pieces("5", [MetalinkText.sha1, digest])
        #expect(refusal(MetalinkText.four(pieces + MetalinkText.url))?.contains("digest that is none") == true)
    }

    @Test(arguments: [["1", "0"], ["0", "0"], ["1", "2"], ["0", "x"], ["", "1"], ["00", "1"]])
    func refusesPiecesInDisorder(_ numbers: [String]) {
        let hashes = numbers.map { "<hash piece=\"\($0)\">\(MetalinkText.sha1)</hash>" }.joined()
        let pieces = "<pieces length=\"5\" type=\"sha1\">\(hashes)</pieces>"
        #expect(refusal(MetalinkText.three(verification: pieces))?.contains("pieces in disorder") == true)
    }

    @Test func saysNothingUnprintable() throws {
        let sentence = try #require(refusal(MetalinkText.four(name: "../\u{202E}x&#9;&#10;\u{9B}\u{200B}y")))
        #expect(sentence.contains("../?x???\u{3F}y"))
        let long = try #require(refusal(MetalinkText.four(name: "../" + String(repeating: "x", count: 900))))
        #expect(long.utf8.count < 250)
    }
}
