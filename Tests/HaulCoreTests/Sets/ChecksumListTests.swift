import Testing

@testable import HaulCore

struct ChecksumListTests {
    private static let md5 = String(repeating: "0d", count: 16)
    private static let sha1 = String(repeating: "1a", count: 20)
    private static let sha256 = String(repeating: "2B", count: 32)
    private static let sha512 = String(repeating: "5c", count: 64)
    private static let other = String(repeating: "ee", count: 32)
    private static let lowercased = "sha256:" + String(repeating: "2b", count: 32)

    private func list(_ text: String, name: String = "SHA256SUMS") throws -> ChecksumList {
        try ChecksumList(Array(text.utf8), name: name)
    }

    private func refusal(_ bytes: [UInt8], name: String = "SHA256SUMS") -> DownloadError? {
        do throws(DownloadError) {
            _ = try ChecksumList(bytes, name: name)
            return nil
        } catch { return error }
    }

    @Test(arguments: [
        ("\(sha256)  a.iso\n", "a.iso"), ("\(sha256) *a.iso\n", "a.iso"), ("\(sha256) a.iso", "a.iso"),
        ("\(sha256)\ta.iso\r\n", "a.iso"), ("\(sha256)  ./a.iso\n", "a.iso"), ("\(sha256)  b/a.iso\n", "b/a.iso"),
        ("\\\(sha256)  a\\nb\\rc\\\\d\n", "a\nb\rc\\d"), ("\(sha256)  a\\nb\n", "a\\nb"),
        ("\(sha256)   a\n", " a"), ("\(sha256)  *a\n", "*a"), ("\(sha256)  a b (1).iso\n", "a b (1).iso"),
        ("SHA256 (a.iso) = \(sha256)\n", "a.iso"), ("SHA256(a.iso)= \(sha256)\n", "a.iso"),
        ("SHA2-256(a.iso)= \(sha256)\r\n", "a.iso"), ("sha256 (a) = b.iso) = \(sha256)", "a) = b.iso"),
        ("\\SHA256 (a\\nb) = \(sha256)", "a\nb"), ("SHA-256 (./a) = \(sha256) ", "a"),
        ("\u{FEFF}\(sha256)  a\n", "a"), ("# remark\n\n \t\r\n\(sha256)  a\n", "a"),
    ])
    func reads(_ text: String, _ name: String) throws {
        let list = try list(text)
        #expect(list.lines.map(\.name) == [name])
        #expect(list.lines.map(\.checksum.description) == [Self.lowercased])
        #expect(list.refused.isEmpty && list.unreadLines == 0)
    }

    @Test func keepsTheOrderOfTheList() throws {
        let list = try list("\(Self.sha256)  z\n\(Self.sha1)  a\n\(Self.sha512)  m\n")
        #expect(list.lines.map(\.name) == ["z", "a", "m"])
        #expect(list.lines.map(\.checksum.algorithm) == [.sha256, .sha1, .sha512])
    }

    @Test(arguments: [("a.iso.sha256", "a.iso"), ("x/A.ISO.SHA256sum", "A.ISO"), ("a.sha256.txt", "a")])
    func takesADigestWithoutANameForTheFileThatTheListIsCalledAfter(_ list: String, _ name: String) throws {
        for text in [
            "\(Self.sha256)\n", "\(Self.sha256)  -\n", "# remark\r\n\(Self.sha256) \r\n",
            "SHA256 hash of file:\r\n\(Self.sha256)\r\nCertUtil: -hashfile command completed successfully.\r\n",
        ] {
            #expect(try self.list(text, name: list).lines.map(\.name) == [name])
        }
    }

    @Test(arguments: ["SHA256SUMS", "a.iso", "sha256"])
    func refusesADigestWithoutAName(_ list: String) {
        #expect(refusal(Array(Self.sha256.utf8), name: list)?.code == .invalidSet)
    }

    @Test func refusesTwoDigestsWithoutNames() {
        #expect(refusal(Array("\(Self.sha256)\n\(Self.other)\n".utf8), name: "a.sha256")?.code == .invalidSet)
    }

    @Test func takesTheStrongestDigestOfAName() throws {
        let text = """
            MD5 (a) = \(Self.md5)
            SHA512 (a) = \(Self.sha512)
            SHA256 (a) = \(Self.sha256)
            SHA384 (a) = \(String(repeating: "33", count: 48))
            SHA1 (b) = \(Self.sha1)
            MD5 (b) = \(Self.md5)
            """
        let list = try list(text)
        #expect(list.lines.map(\.checksum.algorithm) == [.sha512, .sha1] && list.refused.isEmpty)
    }

    @Test(arguments: [
        "\(md5)  a", "MD5 (a) = \(md5)", "SHA384 (a) = \(String(repeating: "33", count: 48))",
        "\(String(repeating: "33", count: 48))  a", "\(String(repeating: "22", count: 28))  a",
        "SHA512/256 (a) = \(sha256)", "BLAKE2b (a) = \(sha512)", "SHA3-256 (a) = \(sha256)",
        "SHA256 (a) = \(sha512)", "\(sha256)  a\n\(other)  a", "\(sha256)  a\n\(other)  ./a",
        "\(sha512)  a\nSHA256 (a) = \(sha256)\nSHA256 (a) = \(other)",
    ])
    func refusesANameWithoutOneUsableDigest(_ text: String) throws {
        let list = try list("\(Self.sha256)  good\n" + text)
        #expect(list.lines.map(\.name) == ["good"])
        #expect(list.refused.map(\.name) == ["a"])
        #expect(list.refused.allSatisfy { $0.reason.hasSuffix(" for a.") })
    }

    /// A file whose digest is cut short or garbled would otherwise be missing from the set without a word.
    @Test(arguments: [
        "\(sha256)0  a", "\(sha256.dropLast())  a", "\(sha256.dropLast(2))  a", "SHA256 (a) = ",
        "SHA256 (a) = x\(sha256)", "MD5 (a) = \(md5) x",
    ])
    func refusesANameWhoseDigestIsDamaged(_ line: String) throws {
        let list = try list("\(Self.sha256)  good\n\(line)\n")
        #expect(list.lines.map(\.name) == ["good"] && list.refused.map(\.name) == ["a"] && list.unreadLines == 0)
        // Another line may have its digest.
        #expect(try self.list("\(line)\n\(Self.sha512)  a\n").lines.map(\.checksum.algorithm) == [.sha512])
    }

    @Test func tellsAListFromAFileThatIsOnlyCalledLikeOne() {
        for text in [
            "\(Self.sha256)\n", "How to check:\r\n\(Self.sha1)  a\r\n", "SHA256 (a) = \(Self.sha256)",
            "-----BEGIN PGP SIGNED MESSAGE-----\n", "\u{FEFF}\(Self.sha256)\r\n",
        ] { #expect(ChecksumList.isMeant(by: Array(text.utf8)), "\(text)") }
        #expect(ChecksumList.isMeant(by: [0xFF, 0xFE] + "\(Self.sha256)  a\n".utf16.flatMap { [UInt8($0), 0] }))
        for text in ["", "\n", "<html>Sign in</html>", "\0\u{1}\u{2}\n", "deadbeef  a"] {
            #expect(!ChecksumList.isMeant(by: Array(text.utf8)), "\(text)")
        }
    }

    @Test func takesALineThatStandsTwiceOnce() throws {
        let list = try list("\(Self.sha256)  a\n\(Self.sha256.lowercased()) *a\nSHA256 (a) = \(Self.sha256)\n")
        #expect(list.lines.count == 1 && list.refused.isEmpty)
    }

    @Test func keepsNamesOfTwoNormalizationsApart() throws {
        let list = try list("\(Self.sha256)  \u{E9}\n\(Self.other)  e\u{301}\n")
        #expect(list.lines.count == 2 && list.refused.isEmpty)
    }

    /// Digests of BLAKE2 and SHA-3 are as long as those of SHA-2.
    @Test(arguments: ["B2SUMS", "a.sha3-256", "b3sums.txt", "SHA512-256SUMS"])
    func takesNoAlgorithmFromTheLengthWhereTheListIsOfAnother(_ name: String) throws {
        let list = try list("\(Self.sha256)  a\nSHA256 (b) = \(Self.sha256)\n", name: name)
        #expect(list.lines.map(\.name) == ["b"] && list.refused.map(\.name) == ["a"])
    }

    @Test(arguments: ["blake.tar.sha256", "sha3-sha256sums.txt"])
    func takesTheAlgorithmFromTheLengthWhereTheListIsOfSHA2(_ name: String) throws {
        #expect(try list("\(Self.sha256)  a\n", name: name).lines.map(\.name) == ["a"])
    }

    @Test func refusesNamesThatAreNotUTF8OrWronglyEscaped() throws {
        let good = Array("\(Self.sha256)  good\n".utf8)
        let wrong = Array("\(Self.sha256)  a".utf8) + [0xFF, 0x0A]
        let escaped = Array("\\\(Self.sha256)  a\\x\n".utf8)
        let list = try ChecksumList(wrong + good + escaped, name: "SHA256SUMS")
        #expect(list.lines.map(\.name) == ["good"])
        #expect(list.refused.map(\.name) == ["a\\xff", "a\\x"])
    }

    @Test(arguments: [
        "", "\n\n", "# remark", "<html>", "a  b", "d41d8cd9  a", "\(sha256)", "\(sha256)a",
        "SHA256 (a) \(sha256)", "SHA256 a = \(sha256)", "Size (a) = 5",
    ])
    func refusesAListWithoutAnyDigest(_ text: String) {
        #expect(refusal(Array(text.utf8))?.code == .invalidSet)
    }

    @Test func countsLinesThatItCannotRead() throws {
        let list = try list("SHA-256 of all files:\n\(Self.sha256)  a\n\(Self.sha256)\nend\n")
        #expect(list.lines.map(\.name) == ["a"] && list.unreadLines == 3 && list.damagedLines == 1)
    }

    /// Each of these names a file that would otherwise count as one that the publisher does not have.
    @Test(arguments: [
        "S\(sha256.dropFirst())  b", " \(sha256)  b", "\u{A0}\(sha256)  b", "\(sha256),b", ";\(sha256)  b",
        "b  \(sha256)",
        "SHA256 (b = \(sha256)", "\(sha256)  ", "<pre>\(sha256)  b",
    ])
    func countsLinesWhoseDigestIsDamagedOrHasNoName(_ line: String) throws {
        #expect(try list("\(Self.sha256)  a\n\(line)\n").damagedLines == 1)
        #expect(ChecksumList.isMeant(by: Array(line.utf8)))
    }

    @Test(arguments: ["-----BEGIN PGP SIGNED MESSAGE-----", "-----BEGIN PGP SIGNATURE-----"])
    func refusesASignatureInTheList(_ line: String) {
        for text in ["\(line)\nHash: SHA256\n\n\(Self.sha256)  a\n", "\(Self.sha256)  a\r\n\(line)\r\n"] {
            #expect(refusal(Array(text.utf8))?.message.contains("signature") == true)
        }
    }

    @Test func keepsItsLimits() throws {
        let line = Array("\(Self.sha256)  a\n".utf8)
        let remark = [UInt8(ascii: "#")] + Array(repeating: UInt8(ascii: "x"), count: ChecksumList.maximumLineBytes - 1)
        #expect(refusal(line + remark) == nil)
        #expect(refusal(line + remark + [0x78])?.message.contains("64 KiB") == true)
        let empty = Array(repeating: UInt8(ascii: "\n"), count: ChecksumList.maximumLines - 1)
        #expect(refusal(line + empty) == nil)
        #expect(refusal(line + empty + [0x0A])?.message.contains("1000000 lines") == true)
        #expect(
            refusal(Array(repeating: 0x0A, count: ChecksumList.maximumBytes + 1))?.message.contains("64 MiB") == true
        )
    }

    /// Comparing each digest with all others of the name would not end.
    @Test func readsManyDigestsOfOneName() throws {
        let text = (0..<100_000).map { number in
            let digits = String(number, radix: 16)
            return String(repeating: "0", count: 64 - digits.count) + digits + "  a\n"
        }.joined()
        #expect(try list(text).refused.map(\.name) == ["a"])
    }

    @Test func findsTheDigestOfAFile() throws {
        let list = try list(
            "\(Self.sha256)  x/a\n\(Self.other)  a\n\(Self.sha256)  x/b\n\(Self.sha256)  x/c\n\(Self.other)  y/c\n"
        )
        #expect(list.checksum(of: "a")?.description == "sha256:\(Self.other)")
        #expect(list.checksum(of: "x/a")?.description == Self.lowercased)
        #expect(list.checksum(of: "b")?.description == Self.lowercased)
        #expect(list.checksum(of: "pub/b")?.description == Self.lowercased)
        #expect(list.checksum(of: "c") == nil && list.checksum(of: "d") == nil)
    }

    @Test(arguments: [
        "SHA256SUMS", "SHA512SUMS", "SHA1SUMS", "MD5SUMS", "sha256sum.txt", "SHA256SUMS.txt", "SHASUMS256.txt",
        "Fedora-Server-40-x86_64-CHECKSUM", "CHECKSUM", "checksums.txt", "haul_1.0_checksums.txt",
        "a-checksums-sha256.txt", "a.iso.sha256", "a.iso.SHA512", "a.sha256sum", "a.sha256.txt", "a.md5",
        "terraform_1.9_SHA256SUMS", "pub/SHA256SUMS", "checksums.sha256", "SHA256", "sha512.txt", "a-sha256.txt",
    ])
    func knowsTheNamesOfLists(_ name: String) { #expect(ChecksumList.isName(name)) }

    @Test(arguments: [
        "a.iso", "SHA256SUMS.gpg", "SHA256SUMS.asc", "a-sha256", ".sha256", "checksum.go", "SHA256SUMS/a", "",
        "sums.txt",
        "a.sha256.sig",
    ])
    func knowsOtherNames(_ name: String) { #expect(!ChecksumList.isName(name)) }

    @Test func keepsItsPromisesForAnyLines() {
        let alphabet = [
            Self.sha256, Self.other, Self.sha1, Self.md5, Self.sha512, "  ", " *", " ", "\t", "\n", "\r\n", "\\", "\\n",
            "a", "b", "./", "../", "SHA256", "MD5", " (", ")", ") = ", "= ", "#", "\u{E9}", "e\u{301}", "\0", "-",
        ]
        for text in HostileStrings(of: alphabet, count: 6000, upTo: 16, seed: 256) {
            guard let list = try? ChecksumList(Array(text.utf8), name: "a.sha256") else { continue }
            let names = list.lines.map { Array($0.name.utf8) } + list.refused.map { Array($0.name.utf8) }
            #expect(Set(names).count == names.count, "\(text.debugDescription)")
            #expect(!names.isEmpty)
            for line in list.lines {
                #expect(line.checksum.algorithm != .md5 && !line.name.isEmpty, "\(text.debugDescription)")
                #expect(list.checksum(of: line.name) != nil)
            }
        }
    }
}
