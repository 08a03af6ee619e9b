import HaulKit
import Testing

@testable import HaulFleet

@Suite struct S3XMLTests {
    private func document(_ text: String) -> S3XML? { S3XML(Array(text.utf8)) }

    @Test func readsAnAnswerOfAStore() {
        let text =
            "\n <?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>SlowDown</Code><Message>ü &amp; so</Message></Error>"
        let error = document(text)
        #expect(error?.name == "Error" && error?.text("Code") == "SlowDown" && error?.text("Message") == "ü & so")
        #expect(document("\u{FEFF}<a/>")?.name == "a")
    }

    /// Pages of proxies with a declared encoding and invalid bytes. Some of them crash the XML parser on Linux if they
    /// reach it.
    private static let pages: [(declared: String, bytes: [UInt8])] = [
        ("EUC-JP", [0xE9]), ("windows-1252", [0x81]), ("Shift_JIS", [0x83, 0x20]), ("UTF-32", [0xFF]),
        ("UTF-8", [0xC3]),
        ("UTF-8", [0]),
    ]
    private static let wide: [[UInt8]] = [
        [0x3C, 0, 0x3F, 0, 0x6D, 0, 0x3F, 0, 0x3E, 0], [0x3C, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF],
        [0xFF, 0xFE, 0x3C, 0, 0x61, 0, 0x2F, 0, 0x3E, 0], [0xFE, 0xFF, 0, 0x3C], [0, 0, 0, 0x3C, 0xFF],
    ]
    private static let texts: [String] = [
        "<?xml version=\"1.0\"" + String(repeating: " ", count: 2000) + "?><a/>", "<a><?b?></a>", "<!DOCTYPE a><a/>",
    ]
    private static var refused: [[UInt8]] {
        pages.map { page in
            Array("<?xml version=\"1.0\" encoding=\"\(page.declared)\"?><E>".utf8) + page.bytes + Array("</E>".utf8)
        } + wide + texts.map { Array($0.utf8) }
    }

    @Test(arguments: refused)
    func refusesWhatIsNotInUTF8OrSuspicious(_ bytes: [UInt8]) {
        #expect(S3XML(bytes) == nil)
    }

    /// The declared encoding is ignored: a page in UTF-8 is read whatever it declares.
    @Test func takesNoWordForTheEncoding() {
        #expect(document(#"<?xml version="1.0" encoding="GB2312"?><E>永和服务器</E>"#)?.text == "永和服务器")
        #expect(document(#"<?xml version="1.0" encoding="UTF-16"?><E>a</E>"#)?.text == "a")
    }

    @Test func survivesBytesOfEveryKind() {
        let words = [
            "<?xml version=\"1.0\" encoding=\"", "EUC-JP", "UTF-16", "UTF-32LE", "IBM037", "ISO-2022-JP", "GB18030",
            "\"?>",
            "<a>", "</a>", "<b/>", "<?p?>", "<![CDATA[", "]]>", "<!--", "-->", "&#0;", "&#xD800;", "&a;", "\u{0}",
            "\u{FEFF}", "é",
        ]
        var random = SplitMix64(seed: 5)
        for _ in 0..<3000 {
            let text = (0..<8).map { _ in words[Int(random.next() % UInt64(words.count))] }.joined()
            _ = document(text)
            _ = S3XML(text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) })
            _ = S3XML(text.utf16.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] })
        }
    }
}
