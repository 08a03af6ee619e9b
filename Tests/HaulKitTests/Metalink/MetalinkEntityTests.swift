import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Document types, entities, and encodings that would hide them.
struct MetalinkEntityTests {
    private static let root = "<metalink xmlns=\"urn:ietf:params:xml:ns:metalink\">"
    private static let file = "<file name=\"a\">\(MetalinkText.url)</file></metalink>"

    private static func document(_ subset: String, _ content: String = "") -> String {
        "<?xml version=\"1.0\"?><!DOCTYPE metalink [\(subset)]>\(root)\(content)\(file)"
    }

    /// Each entity expands to ten times the one before.
    private static let laughs =
        "<!ENTITY l0 \"lol\">"
        + (1...12).map { "<!ENTITY l\($0) \"\(String(repeating: "&l\($0 - 1);", count: 10))\">" }.joined()
    private static let blowUp = "<!ENTITY b \"\(String(repeating: "b", count: 50_000))\">"

    static let harmful = [
        document(laughs, "<x>&l12;</x>"), document(laughs, "<x y=\"&l12;\"/>"),
        document(blowUp, "<x y=\"\(String(repeating: "&b;", count: 15_000))\"/>"),
        document("<!ENTITY e SYSTEM \"file:///etc/passwd\">", "<x>&e;</x>"),
        document("<!ENTITY e PUBLIC \"p\" \"http://127.0.0.1:1/\">", "<x>&e;</x>"),
        document("<!ENTITY % p SYSTEM \"file:///etc/passwd\"> %p;", "<x>&e;</x>"),
        document("<!ENTITY % p \"<!ENTITY e SYSTEM 'file:///etc/passwd'>\"> %p;", "<x>&e;</x>"),
        document("<!ENTITY e \"&f;\"><!ENTITY f \"&e;\">", "<x>&e;</x>"),
        document("<!ENTITY e \"&f;\"><!ENTITY f \"&e;\">", "<x y=\"&e;\"/>"),
        document("<!ELEMENT metalink ANY>"), document("<!ATTLIST file size CDATA \"1\">"),
    ]

    /// The system's parser on Linux reads the first of these to the end without effect; the others end the process.
    static let refusedByTheirBytesOnly = [
        document(blowUp, "<x>\(String(repeating: "&b;", count: 50_000))</x>"),
        document("<!NOTATION n SYSTEM \"n\">"), document("<!NOTATION n PUBLIC \"n\">"),
        document("<!NOTATION n SYSTEM \"n\"><!ENTITY u SYSTEM \"file:///etc/passwd\" NDATA n>"),
        document("<!ATTLIST file size CDATA #IMPLIED>"),
    ]

    @Test(arguments: harmful + refusedByTheirBytesOnly)
    func refusesADocumentTypeBeforeParsing(_ text: String) {
        #expect(refusal(text)?.contains("declares a document type") == true)
    }

    @Test(arguments: [
        "<!DOCTYPE metalink>", "<!DOCTYPE metalink SYSTEM \"file:///etc/passwd\">", "<!DOCTYPE\nmetalink [ ]>",
        "<!-- --><!DOCTYPE metalink>", "<!-- <!DOCTYPE -->", "<!DOCTYPE", "<!ENTITY a \"b\">",
    ])
    func refusesEvenAHarmlessDocumentType(_ type: String) {
        #expect(refusal("\(type)\(Self.root)\(Self.file)")?.contains("declares a document type") == true)
    }

    /// The second line of defence: documents that the check of the bytes should already have refused.
    @Test(arguments: harmful)
    func refusesHarmWhileParsingToo(_ text: String) {
        #expect(throws: DownloadError.self) {
            try MetalinkParser.files(inChecked: Data(text.utf8), limits: Metalink.Limits())
        }
    }

    @Test(arguments: ["<?a?>", "<?a-b.c?>", "<??>", "<?\u{E9}?>", "<a><?b?></a>", "<!-- <?a?> -->", "<?a<?b?>"])
    func refusesAnInstructionThatWouldEndTheProcess(_ text: String) {
        #expect(refusal(text + Self.root + Self.file)?.contains("empty processing instruction") == true)
        #expect(refusal(Self.root + text + Self.file)?.contains("empty processing instruction") == true)
        #expect(refusal(Self.root + Self.file + text)?.contains("empty processing instruction") == true)
    }

    @Test(arguments: [
        "<?a ?>", "<?a\n?>", "<?a b?>", "<?a b?c>?>", "<?xml-stylesheet type=\"text/css\" href=\"a.css\"?>",
    ])
    func readsOtherInstructions(_ text: String) {
        #expect(refusal(text + Self.root + text + Self.file + text) == nil)
    }

    @Test(arguments: ["<?", "<?a", "<?a?", "<?a<", "<?a?b?>", "<?a<?a<?a ?>", "<?a!?>", "<? a?>", "<?a\u{2028}?>"])
    func refusesAMalformedInstruction(_ text: String) {
        #expect(refusal(text + Self.root + Self.file) != nil)
        #expect(refusal(Self.root + text + Self.file) != nil)
    }

    @Test func readsNoFileAndNoURLNamedByTheDocument() throws {
        let folder = try TemporaryFolder()
        let secret = URL(filePath: folder("secret"))
        // If the parser read this file, the document would be valid and would contain the secret.
        try Data("<file name=\"secret\"><url>https://secret.example/</url></file>".utf8).write(to: secret)
        let type = URL(filePath: folder("type.dtd"))
        try Data("<!ENTITY e \"<file name='secret'><url>https://secret.example/</url></file>\">".utf8).write(to: type)
        let subsets = [
            "[<!ENTITY e SYSTEM \"\(secret.absoluteString)\">]", "[<!ENTITY e SYSTEM \"\(secret.path)\">]",
            "SYSTEM \"\(type.absoluteString)\"", "SYSTEM \"\(type.path)\"",
            "[<!ENTITY % p SYSTEM \"\(type.absoluteString)\"> %p;]",
        ]
        for subset in subsets {
            let text = "<!DOCTYPE metalink \(subset)>\(Self.root)&e;\(Self.file)"
            #expect(refusal(text)?.contains("declares a document type") == true)
            let failure = #expect(throws: DownloadError.self) {
                try MetalinkParser.files(inChecked: Data(text.utf8), limits: Metalink.Limits())
            }
            #expect(failure.map { "\($0)".contains("secret") } == false)
        }
        let inclusion = "<i:include xmlns:i=\"http://www.w3.org/2001/XInclude\" href=\"\(secret.absoluteString)\"/>"
        #expect(try Metalink(text: Self.root + inclusion + Self.file).files.map(\.name) == ["a"])
    }

    @Test(arguments: ["&e;", "&nbsp;", "<x y=\"&e;\"/>", "&#xFFFFFFFFF;", "&#x0;", "%p;&e;"])
    func refusesEntitiesThatNobodyDeclared(_ content: String) {
        #expect(refusal(Self.root + content + Self.file) != nil)
    }

    @Test(arguments: [String.Encoding.utf32, .utf32LittleEndian, .utf32BigEndian])
    func refusesOtherEncodings(_ encoding: String.Encoding) throws {
        for text in Self.harmful.prefix(2) + [Self.root + Self.file] {
            #expect(refusal(try #require(text.data(using: encoding)))?.contains("not in UTF-8") == true)
        }
    }

    @Test(arguments: [String.Encoding.utf16, .utf16LittleEndian, .utf16BigEndian])
    func readsUTF16AndFindsTheSameHarmInIt(_ encoding: String.Encoding) throws {
        for declaration in ["", "<?xml version=\"1.0\" encoding=\"UTF-16\"?>\n"] {
            let document = declaration + Self.root + "<!-- naïve 🦊 -->" + Self.file
            #expect(try Metalink(try #require(document.data(using: encoding))).files.map(\.name) == ["a"])
            for text in Self.harmful + Self.refusedByTheirBytesOnly {
                let body = declaration + text.drop { $0 != ">" }.dropFirst()
                #expect(
                    refusal(try #require(body.data(using: encoding)))?.contains("declares a document type") == true
                )
            }
        }
    }

    @Test func refusesUTF16ThatBreaksOff() throws {
        let data = try #require((Self.root + Self.file).data(using: .utf16LittleEndian))
        #expect(refusal(data.dropLast())?.contains("not in UTF-8") == true)
        #expect(refusal(data + [0x00, 0xD8])?.contains("not in UTF-8") == true)
        #expect(refusal(Data([0xFF, 0xFE])) != nil && refusal(Data([0xFE, 0xFF, 0])) != nil)
    }

    @Test(arguments: ["ISO-8859-1", "latin1", "windows-1252", "CP1252", "ISO-8859-15", "windows-1250"])
    func readsTheEncodingThatADocumentDeclares(_ name: String) throws {
        let declaration = Data("<?xml version='1.0' encoding='\(name)'?>".utf8)
        let root = Data(Self.root.utf8) + Data("<file name=\"caf".utf8) + [0xE9] + Data("\">".utf8)
        let document = declaration + root + Data("\(MetalinkText.url)</file></metalink>".utf8)
        #expect(try Metalink(document).files.map(\.name) == ["café"])
        let harmful = declaration + Data("<!DOCTYPE metalink>".utf8) + root
        #expect(refusal(harmful)?.contains("declares a document type") == true)
    }

    @Test(
        arguments: [
            [0xFF], [0xC0, 0xBC], [0xC3], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xE2, 0x82], [0x00], [0xA7],
        ] as [[UInt8]]
    )
    func refusesBytesThatAreNotUTF8(_ bytes: [UInt8]) {
        #expect(refusal(Data(Self.root.utf8) + bytes + Data(Self.file.utf8))?.contains("not in UTF-8") == true)
    }

    @Test(arguments: [
        "UTF-16", "UTF-7", "EBCDIC-CP-US", "IBM037", "UTF-32", "ISO-10646-UCS-4", "x", "", "UTF-16LE", "HZ-GB-2312",
        "ISO-2022-JP", "utf\u{202E}",
    ])
    func refusesAnyOtherDeclaredEncoding(_ name: String) {
        for quote in ["'", "\""] {
            let text = "<?xml version=\"1.0\" encoding=\(quote)\(name)\(quote)?>\(Self.root)\(Self.file)"
            #expect(refusal(text)?.contains("not in UTF-8 but says") == true)
        }
    }

    @Test func isNotToldAnEncodingBehindItsBack() {
        // In UTF-7, `+ADw-` is `<`.
        let hidden = "+ADwAIQ-DOCTYPE metalink+AD4-"
        for declaration in [
            "<?xml version=\"encoding='utf-8'\" encoding='UTF-7'?>",
            "<?xml version='1.0'?><?xml version='1.0' encoding='UTF-7'?>",
            "<?xml version='1.0' encoding=UTF-7?>", "<?xml\u{2028}version='1.0' encoding='UTF-7'?>",
            "<?xml version='1.0' \(String(repeating: " ", count: 2000)) encoding='UTF-7'?>",
        ] {
            #expect(refusal(declaration + hidden + Self.root + Self.file) != nil)
        }
    }
}
