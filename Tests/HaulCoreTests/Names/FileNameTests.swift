import Foundation
import Testing

@testable import HaulCore

struct FileNameTests {
    @Test func knowsNamesThatShowNothing() {
        #expect(["", " ", "\u{200B}", "\u{2800}\u{3000}", "\u{202E}"].allSatisfy(FileName.isInvisible))
        #expect(!["a", ".", "\u{200B}a", "é"].contains(where: FileName.isInvisible))
    }

    @Test(arguments: [
        ("report.pdf", "report.pdf"), ("Überblick 🦊.tar.gz", "Überblick 🦊.tar.gz"), ("../../etc/passwd", "passwd"),
        ("C:\\temp\\a.txt", "a.txt"), ("/\u{301}etc", "\u{301}etc"), ("a\0b\u{1B}c\u{7F}d\u{9B}e", "abcde"),
        ("invoice\u{202E}fdp.exe", "invoicefdp.exe"), ("\u{2066}a\u{2069}\u{200F}\u{61C}b", "ab"),
        ("a\u{200B}b\u{200D}c\u{FEFF}d\u{2060}e\u{2028}f", "abcdef"), (".bashrc", "bashrc"), ("--rf", "rf"),
        (" .- .-a", "a"), ("...a", "a"), ("a. . ..", "a"), ("a\u{A0}\u{3000}", "a"),
        ("a<b>c:d\"e|f?g*h", "a_b_c_d_e_f_g_h"),
        ("\u{200B}.\u{200B}.a", "a"), ("a.\u{200B} ", "a"),
    ])
    func makesANameSafe(_ raw: String, _ name: String) {
        #expect(FileName.safe(raw) == name)
    }

    @Test(arguments: [
        ("re\u{AD}port", "report"), ("a\u{180E}b", "ab"), ("a\u{FFF9}b\u{FFFA}c\u{FFFB}d", "abcd"),
        ("a\u{E0001}\u{E0041}\u{E007F}b", "ab"), ("a\u{E000}b\u{F8FF}\u{F0000}\u{10FFFD}c", "abc"),
        ("a\u{378}b", "ab"), ("a\u{2061}\u{2064}\u{206A}\u{206F}b", "ab"),
        ("a\u{34F}b\u{115F}\u{1160}\u{3164}\u{FFA0}\u{17B4}c", "abc"), ("a\u{FE00}b\u{FE0F}c\u{E0100}d", "abcd"),
        ("a\u{180B}b\u{1D173}c", "abc"), ("a\u{85}b\u{2028}c\u{2029}d", "abcd"), ("\u{2800}a\u{2800}", "a"),
        ("~", "_"), ("~/x", "x"), ("~user", "_user"), (" ~~a", "_~a"), ("a~", "a~"), (".~a", "_a"),
    ])
    func leavesNothingInANameThatNobodySees(_ raw: String, _ name: String) {
        #expect(FileName.safe(raw) == name)
    }

    @Test(arguments: [
        "👩\u{200D}👩\u{200D}👧 x", "🏳\u{FE0F}\u{200D}🌈", "❤\u{FE0F}.txt", "1\u{FE0F}\u{20E3}", "👍🏽.png",
        "می\u{200C}خواهم.pdf",
        "क्\u{200D}ष.txt", "क्\u{200C}ष.txt", "葛\u{E0100}城.txt", "٣\u{600}", "é.txt", "e\u{301}.txt", "日本語.zip",
        "a b~c.txt",
        "ก็.txt", "नमस्ते", "Ω≈ç√∫ ½ № ©", "🇩🇪🏴.txt",
    ])
    func keepsWhatAScriptNeeds(_ raw: String) {
        #expect(FileName.safe(raw) == raw)
    }

    @Test func leavesNoNoncharacterInAName() throws {
        // Swift allows no noncharacter in a literal.
        for value in [0xFDD0, 0xFFFE, 0xFFFF, 0x1FFFE, 0x10FFFF] as [UInt32] {
            let scalar = try #require(Unicode.Scalar(value))
            #expect(FileName.safe("a\(scalar)b") == "ab")
        }
    }

    @Test func makesATitleANameInOnePiece() {
        #expect(FileName.safeTitle("AC/DC live") == "AC_DC live")
        #expect(FileName.safeTitle("a\\b/c.mp3") == "a_b_c.mp3")
        #expect(FileName.safeTitle("../../etc/passwd") == "_.._etc_passwd")
        #expect(FileName.safeTitle("plain.txt") == "plain.txt")
        #expect(FileName.safeTitle("/") == "_" && FileName.safeTitle("") == nil && FileName.safeTitle("..") == nil)
        #expect(FileName.choose(contentDisposition: nil, suggested: "1/2: Start", urls: []) == "1_2_ Start")
    }

    @Test func completesANameOfAURLByItsType() throws {
        let urls = [try #require(URL(string: "https://h/download")), try #require(URL(string: "https://h/x.zip"))]
        func name(_ type: String?, _ disposition: String? = nil, _ suggested: String? = nil, _ isNumbered: Bool = false)
            -> String
        {
            FileName.choose(
                contentDisposition: disposition,
                suggested: suggested,
                isNumbered: isNumbered,
                urls: urls,
                mediaType: type
            )
        }
        #expect(name("application/pdf") == "download.pdf")
        for type in [nil, "text/plain", "application/octet-stream", "application/x-gzip", "x", ""] {
            #expect(name(type) == "download")
        }
        #expect(name("application/pdf", "attachment; filename=report") == "report")
        #expect(name("application/pdf", nil, "My report") == "My report.pdf")
        #expect(name("video/mp4", nil, "Lesson 1.2 Waves") == "Lesson 1.2 Waves.mp4")
        #expect(name("video/mp4", nil, "Waves 1.2") == "Waves 1.2.mp4")
        for title in ["waves.mkv", "waves.7z", "waves.zip.001", "Waves.tar.gz"] {
            #expect(name("video/mp4", nil, title) == title)
        }
        #expect(name("application/octet-stream", nil, "My report") == "My report")
        #expect(name("application/pdf", nil, "download (1)", true) == "download (1).pdf")
        #expect(FileName.choose(contentDisposition: nil, urls: [urls[1]], mediaType: "application/pdf") == "x.zip")
        #expect(FileName.choose(contentDisposition: nil, urls: [], mediaType: "image/png") == "download.png")
    }

    @Test(arguments: [
        "", ".", "..", "...", "a/", "a\\", "/", "-", " ", "\0", "\u{202E}", "..\u{200B}", ". .", "../..", "\u{3000}",
    ])
    func findsNoNameWhenNothingIsLeft(_ raw: String) {
        #expect(FileName.safe(raw) == nil)
    }

    @Test(arguments: [
        "CON", "con", "Prn.txt", "AUX.tar.gz", "nul", "COM1", "com9.x", "LPT1.", "LPT9", "NUL .txt", "NUL\u{3000}.txt",
        "COM\u{B9}",
    ])
    func putsAnUnderscoreBeforeADeviceName(_ raw: String) throws {
        let name = try #require(FileName.safe(raw))
        #expect(name == "_" + (raw.hasSuffix(".") ? String(raw.dropLast()) : raw))
    }

    @Test(arguments: ["CONSOLE", "COM0", "COM10", "LPT", "a.con", "_CON", "nulls.txt"])
    func leavesNamesThatOnlyLookLikeDevices(_ raw: String) {
        #expect(FileName.safe(raw) == raw)
    }

    @Test(arguments: [
        ("a.zip.haulpart", "a.zip_haulpart"), ("a.HaulPart", "a_HaulPart"), ("a.haulpart. ", "a_haulpart"),
        ("a.haulpart.haulpart", "a.haulpart_haulpart"), ("a.haulpart.zip", "a.haulpart.zip"), (".haulpart", "haulpart"),
    ])
    func givesNoNameTheSuffixOfPartialFiles(_ raw: String, _ name: String) {
        #expect(FileName.safe(raw) == name)
    }

    @Test func cutsALongNameBeforeItsExtension() {
        let long = String(repeating: "x", count: 300)
        #expect(FileName.safe(long + ".pdf") == String(repeating: "x", count: 236) + ".pdf")
        #expect(FileName.safe(long + ".tar.zst") == String(repeating: "x", count: 232) + ".tar.zst")
        #expect(FileName.safe(long) == String(repeating: "x", count: 240))
        #expect(FileName.safe("a." + long) == "a." + String(repeating: "x", count: 238))
        #expect(FileName.safe(long + ".abcdefghijklmnop")?.hasSuffix(".abcdefghijklmnop") == true)
        #expect(FileName.safe(long + ".abcdefghijklmnopq") == String(repeating: "x", count: 240))
    }

    @Test func cutsBetweenCharacters() throws {
        let flags = try #require(FileName.safe(String(repeating: "🇩🇪", count: 100) + ".txt"))
        #expect(flags == String(repeating: "🇩🇪", count: 29) + ".txt")
        let accents = try #require(FileName.safe(String(repeating: "e\u{301}", count: 200)))
        #expect(accents == String(repeating: "e\u{301}", count: 80))
        let heap = try #require(FileName.safe("e" + String(repeating: "\u{301}", count: 400)))
        #expect((239...240).contains(heap.utf8.count))
    }

    @Test func repairsWhatTheCutItselfBreaks() {
        let x = String(repeating: "x", count: 231)
        #expect(FileName.safe(x + ".haulpart.and-much-more-behind-it") == x + "_haulpart")
        #expect(FileName.safe("CON" + String(repeating: " ", count: 237) + "x") == "_CON")
        #expect(FileName.safe(String(repeating: "y", count: 239) + " and more") == String(repeating: "y", count: 239))
    }

    @Test(arguments: [
        ("https://h/a/b.iso?x=c.zip#d.zip", "b.iso"), ("https://h/a/b/", "b"), ("https://h/a%20b.txt", "a b.txt"),
        ("https://h/..%2F..%2Fetc%2Fpasswd", "passwd"), ("https://h/a%5Cb.txt", "b.txt"),
        ("https://h/%E2%82%AC.txt", "€.txt"),
        ("https://h/a%2525.txt", "a%25.txt"), ("https://h/a%00b", "ab"), ("https://h/%2ehidden", "hidden"),
        ("https://h/caf%E9.zip", "café.zip"), ("https://h/100%25", "100%"),
        ("https://h//x.txt//", "x.txt"), ("ftp://u:p@h/f;type=i", "f;type=i"),
    ])
    func takesTheLastSegmentOfAURL(_ text: String, _ name: String) throws {
        #expect(FileName.from(url: try #require(URL(string: text))) == name)
    }

    @Test(arguments: [
        "https://h", "https://h/", "https://h/?a=b.zip", "https://h/#a", "https://h/..", "https://h/a%2F",
        "https://h/%20",
    ])
    func findsNoNameInSomeURLs(_ text: String) throws {
        #expect(FileName.from(url: try #require(URL(string: text))) == nil)
    }

    @Test func choosesTheHeaderThenTheURLsInOrder() throws {
        let urls = try ["https://h/", "https://h/first.zip", "https://h/second.zip"].map {
            try #require(URL(string: $0))
        }
        #expect(FileName.choose(contentDisposition: "inline; filename=a.txt", urls: urls) == "a.txt")
        #expect(FileName.choose(contentDisposition: "inline; filename=\"..\"", urls: urls) == "first.zip")
        #expect(FileName.choose(contentDisposition: nil, urls: urls) == "first.zip")
        #expect(FileName.choose(contentDisposition: nil, urls: []) == "download")
        #expect(FileName.choose(contentDisposition: "attachment", urls: Array(urls.prefix(1))) == "download")
    }

    @Test(arguments: [
        ("a.zip", 0, "a.zip"), ("a.zip", 1, "a (1).zip"), ("a.zip", 12, "a (12).zip"), ("a", 2, "a (2)"),
        ("a.tar.gz", 1, "a (1).tar.gz"), ("A.TAR.XZ", 1, "A (1).TAR.XZ"), ("a.b.tar.bz2", 3, "a.b (3).tar.bz2"),
        ("a.tar.zst", 1, "a (1).tar.zst"), ("tar.gz", 1, "tar (1).gz"),
        ("v1.2 with a long end", 1, "v1.2 with a long end (1)"),
        ("a.zip", -1, "a.zip"),
    ])
    func numbersCandidates(_ name: String, _ index: Int, _ candidate: String) {
        #expect(FileName.candidate(name, index) == candidate)
    }

    @Test func leavesLongCandidatesRoomForTheSuffix() throws {
        let name = try #require(FileName.safe(String(repeating: "é", count: 300) + ".tar.gz"))
        for index in [0, 1, 99, 1000, .max] {
            let candidate = FileName.candidate(name, index)
            #expect((candidate + FilePaths.partSuffix).utf8.count <= 255)
            #expect(candidate.hasSuffix(index == 0 ? ".tar.gz" : " (\(index)).tar.gz"))
        }
    }

    private static let hostile = [
        "/", "\\", ".", "..", "-", " ", "\0", "\u{1F}", "\u{7F}", "\u{85}", "\u{9F}", "\u{202E}", "\u{2066}",
        "\u{2069}",
        "\u{200E}", "\u{61C}", "\u{200B}", "\u{200D}", "\u{FEFF}", "\u{2060}", "\u{2028}", "\u{2029}", "\u{A0}",
        "\u{3000}",
        "<", ">", ":", "\"", "|", "?", "*", "CON", "nul", "COM1", "LPT9", "CONIN$", ".haulpart", ".HAULPART", ".tar.gz",
        ".txt", "_", "a", "é", "e\u{301}", "\u{301}", "\u{600}", "🦊", "🇩🇪",
        "👩‍👩‍👧", "ß", "ı", "%2F", "%", "\u{FFFD}", "#",
        String(repeating: "x", count: 226), String(repeating: "y", count: 231), String(repeating: " ", count: 236),
        String(repeating: "é", count: 118),
    ]

    @Test func keepsEveryPromiseForHostileNames() throws {
        var named = 0
        var read = 0
        for raw in HostileStrings(of: Self.hostile, count: 20_000, upTo: 10, seed: 6) {
            guard let name = FileName.safe(raw) else { continue }
            read += 1
            named += 1
            try expectSafe(name, from: raw)
            let numbered = FileName.candidate(name, 12)
            #expect((numbered + FilePaths.partSuffix).utf8.count <= 255, "\(raw.debugDescription)")
            #expect(numbered != name)
        }
        #expect(read > 1000)
        #expect(named > 5000)
    }

    @Test func keepsEveryPromiseForHostileURLsAndHeaders() throws {
        for raw in HostileStrings(of: Self.hostile, count: 5000, upTo: 6, seed: 7) {
            let urls = [URL(string: "https://h/" + raw), URL(string: raw)].compactMap(\.self)
            for url in urls {
                if let name = FileName.from(url: url) { try expectSafe(name, from: raw) }
            }
            let header = "attachment; filename=\"\(raw)\""
            try expectSafe(FileName.choose(contentDisposition: header, urls: urls), from: raw)
        }
    }

    /// Checks `name` against the documented promises, independently of the code that keeps them.
    private func expectSafe(_ name: String, from raw: String) throws {
        let scalars = Array(name.unicodeScalars)
        let first = try #require(scalars.first)
        let last = try #require(scalars.last)
        let forbidden: (Unicode.Scalar) -> Bool = { scalar in
            switch scalar.value {
            case 0...0x1F, 0x7F...0x9F, 0x200B, 0x200C, 0x200E, 0x200F, 0x2028...0x202E, 0x2060, 0x2066...0x2069, 0x61C,
                0xFEFF:
                true
            default: "/\\<>:\"|?*".unicodeScalars.contains(scalar)
            }
        }
        let comment = Comment(rawValue: "\(raw.debugDescription) -> \(name.debugDescription)")
        #expect(!scalars.contains(where: forbidden), comment)
        #expect(first != "." && first != "-" && first != " ", comment)
        #expect(last != "." && last != " ", comment)
        #expect(name.utf8.count <= FileName.maximumBytes, comment)
        #expect(!name.lowercased().hasSuffix(".haulpart"), comment)
        let stem = name.unicodeScalars.prefix { $0 != "." }
        let device = String(stem).uppercased().trimmingCharacters(in: .whitespaces)
        #expect(!["CON", "PRN", "AUX", "NUL", "COM1", "LPT9"].contains(device), comment)
        let again = try #require(FileName.safe(name))
        #expect(again.utf8.elementsEqual(name.utf8), comment)
    }
}
