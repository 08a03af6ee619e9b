import Testing

@testable import HaulCore

struct FieldTextTests {
    private func text(_ value: [UInt8], of name: String) -> String? {
        FieldText.utf8(value, of: name.utf8).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func leavesASCIIAndUTF8AsTheyAre() {
        for value in ["", "attachment; filename=a.txt", "attachment; filename=\"naïve 🦊.txt\""] {
            #expect(FieldText.utf8(Array(value.utf8), of: "Content-Disposition".utf8) == nil, "\(value)")
        }
    }

    @Test func readsOtherBytesAsWindows1252() {
        #expect(text(Array("caf".utf8) + [0xE9], of: "Content-Disposition") == "café")
        #expect(text([0x93, 0x80, 0x94, 0x99], of: "X-Name") == "“€”™")
        // Every byte has a character, so none becomes U+FFFD.
        let all = text(Array(0x80...0xFF), of: "x")
        #expect(all?.unicodeScalars.count == 128 && all?.unicodeScalars.contains("\u{FFFD}") == false)
        // A single byte that is invalid in UTF-8 decides for the whole value.
        #expect(text(Array("ü".utf8) + [0xFF], of: "x") == "Ã¼ÿ")
    }

    @Test(arguments: ["Location", "location", "LINK", "Content-Location", "Refresh"])
    func escapesTheBytesOfURLs(_ name: String) {
        #expect(text(Array("/dir/caf".utf8) + [0xE9] + Array(".zip".utf8), of: name) == "/dir/caf%E9.zip")
    }
}

struct CharsetTests {
    @Test(
        arguments: [
            ("UTF-8", [0xC3, 0xA9], "é"), ("utf8", [0xC3, 0xA9], "é"), ("UTF8", [0xC3, 0xA9], "é"),
            ("latin1", [0xE9], "é"), ("ISO-8859-1", [0xE9], "é"), ("iso8859-1", [0x80], "€"),
            ("ISO_8859-1:1987", [0xE9], "é"),
            ("windows-1252", [0x93], "“"), ("CP1252", [0x80], "€"), ("windows-1250", [0x9E], "ž"),
            ("windows-1251", [0xCF], "П"),
            ("windows-1253", [0xE1], "α"), ("windows-1254", [0xFE], "ş"), ("iso-8859-9", [0xFE], "ş"),
            ("windows-1255", [0xE0], "א"), ("windows-1256", [0xC7], "ا"), ("windows-1257", [0xF0], "š"),
            ("windows-1258", [0xFE], "₫"),
            ("iso-8859-2", [0xB9], "š"), ("latin2", [0xB9], "š"), ("iso-8859-3", [0xA1], "Ħ"),
            ("iso-8859-4", [0xB9], "š"),
            ("iso-8859-5", [0xB0], "А"), ("iso-8859-6", [0xC7], "ا"), ("iso-8859-7", [0xE1], "α"),
            ("iso-8859-8", [0xE0], "א"),
            ("iso-8859-10", [0xAA], "Š"), ("iso-8859-11", [0xA1], "ก"), ("iso-8859-13", [0xF0], "š"),
            ("iso-8859-14", [0xA1], "Ḃ"),
            ("iso-8859-15", [0xA4], "€"), ("latin9", [0xA4], "€"), ("iso-8859-16", [0xA4], "€"),
            ("us-ascii", [0x41], "A"),
            ("EUC-JP", [0xC6, 0xFC, 0xCB, 0xDC, 0x2E], "日本."), ("x-euc-jp", [0xA5, 0xC6, 0x8E, 0xB1], "テｱ"),
            ("euc-jp", [0xA1, 0xC1, 0xF4, 0xA6, 0xAD, 0xA1], "～熙①"), ("EUC-JP", [0xA1, 0xA1, 0xF9, 0xD7], "\u{3000}咩"),
            ("Shift_JIS", [0x93, 0xFA, 0x96, 0x7B, 0x5C, 0xB1], "日本\\ｱ"), ("cp932", [0x83, 0x5C, 0xFB, 0xFC], "ソ髙"),
            ("EUC-KR", [0xC7, 0xD1, 0xB1, 0xDB, 0x2E], "한글."), ("ks_c_5601-1987", [0xB0, 0xA1, 0xFD, 0xFE], "가詰"),
            ("cp949", [0x81, 0x41, 0xA0, 0xFE, 0xA1, 0x41, 0xC6, 0x52], "갂좤좥힣"),
        ] as [(String, [UInt8], String)]
    )
    func knows(_ label: String, _ bytes: [UInt8], _ text: String) {
        #expect(Charset(label: label)?.text(bytes) == text)
    }

    @Test(arguments: [
        "", "koi8-r", "big5", "iso-8859-", "iso-8859-12", "iso-8859-99", "windows-", "windows-x", "cp437", "utf-7",
    ])
    func doesNotKnow(_ label: String) { #expect(Charset(label: label) == nil) }

    @Test func refusesBytesThatMeanNothing() {
        #expect(Charset(label: "utf-8")?.text([0xFF]) == nil)
        #expect(Charset(label: "us-ascii")?.text([0x80]) == nil)
        #expect(Charset(label: "iso-8859-7")?.text([0xFF]) == nil)
    }

    @Test(
        arguments: [
            ("euc-jp", [0xC6]), ("euc-jp", [0xC6, 0x41]), ("euc-jp", [0xA0, 0xA1]), ("euc-jp", [0xFE, 0xFE]),
            ("euc-jp", [0xA9, 0xA1]), ("euc-jp", [0x8E, 0xE0]), ("euc-jp", [0x8F, 0xB0, 0xA1]), ("euc-jp", [0x80]),
            ("shift_jis", [0x93]), ("shift_jis", [0x81, 0x7F]), ("shift_jis", [0x81, 0x3F]), ("shift_jis", [0xA0]),
            ("shift_jis", [0xFD, 0x40]), ("shift_jis", [0xF0, 0x40]), ("euc-kr", [0xB0]), ("euc-kr", [0x80, 0x41]),
            ("euc-kr", [0xC6, 0x53]), ("euc-kr", [0xC7, 0x41]), ("euc-kr", [0xFF, 0xA1]), ("euc-kr", [0x81, 0x5B]),
            ("euc-kr", [0xC9, 0xA1]),
        ] as [(String, [UInt8])]
    )
    func refusesBytesOfNoCharacter(_ label: String, _ bytes: [UInt8]) throws {
        #expect(try #require(Charset(label: label)).text(bytes) == nil)
    }
}
