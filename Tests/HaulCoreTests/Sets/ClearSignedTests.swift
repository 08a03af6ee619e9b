import Testing

@testable import HaulCore

struct ClearSignedTests {
    private static func signed(_ text: String, headers: String = "Hash: SHA256\n") -> [UInt8] {
        let signature = "-----BEGIN PGP SIGNATURE-----\n\niQ==\n-----END PGP SIGNATURE-----\n"
        return Array("-----BEGIN PGP SIGNED MESSAGE-----\n\(headers)\n\(text)\n\(signature)".utf8)
    }

    private static func text(_ bytes: [UInt8]) -> String? {
        ClearSigned.text(bytes).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test(arguments: ["Hash: SHA256\n", "Hash: SHA512\nComment: x\n", ""])
    func readsTheTextWithoutHeadersAndSignature(_ headers: String) {
        #expect(Self.text(Self.signed("aa  a\nbb  b", headers: headers)) == "aa  a\nbb  b\n")
    }

    @Test func readsLinesThatBeginWithADash() {
        #expect(Self.text(Self.signed("- -----BEGIN x\n- - a")) == "-----BEGIN x\n- a\n")
    }

    @Test func isReadWithTheLineBreaksOfOtherSystems() {
        let bytes = Self.signed("aa  a").flatMap { $0 == UInt8(ascii: "\n") ? Array("\r\n".utf8) : [$0] }
        #expect(ClearSigned.isOne(bytes) && Self.text(bytes) == "aa  a\r\n")
    }

    /// Each line costs memory.
    @Test func takesNoTextWithMoreLinesThanAListMayHave() {
        let breaks = String(repeating: "\n", count: ChecksumList.maximumLines)
        #expect(Self.text(Self.signed(breaks)) == nil)
    }

    /// The program that checks a signature would say which of two texts it covers. Nothing else can.
    @Test func takesNoTextFromTwo() {
        #expect(Self.text(Self.signed("aa  a") + Self.signed("bb  b")) == nil)
        #expect(Self.text(Self.signed("-----BEGIN PGP SIGNED MESSAGE-----\n\nbb  b")) == nil)
    }

    @Test(arguments: [
        "", "aa  a\n", "\n-----BEGIN PGP SIGNED MESSAGE-----\n\na\n", "-----BEGIN PGP SIGNED MESSAGE-----\n\na\n",
    ])
    func takesNoTextFromWhatIsNotSigned(_ text: String) {
        #expect(ClearSigned.text(Array(text.utf8)) == nil)
    }
}

struct OpenPGPArmourTests {
    private static func block(_ base64: String) -> String {
        "-----BEGIN PGP PUBLIC KEY BLOCK-----\nComment: a key\n\n\(base64)\n=AAAA\n-----END PGP PUBLIC KEY BLOCK-----\n"
    }

    @Test func decodesTheKeysOfAllBlocks() {
        let text = "remark\n" + Self.block("AAEC\nAw==") + "\n" + Self.block("BAU=")
        #expect(OpenPGPArmour.binary(Array(text.utf8)) == [0, 1, 2, 3, 4, 5])
    }

    @Test func leavesBinaryKeysAsTheyAre() {
        #expect(OpenPGPArmour.binary([0x99, 0x01, 0xFF]) == [0x99, 0x01, 0xFF])
        #expect(OpenPGPArmour.binary([]) == [])
    }

    @Test func givesNoKeyForABlockThatCannotBeDecoded() {
        let text = Array((Self.block("A*A") + Self.block("BAU=")).utf8)
        #expect(OpenPGPArmour.binary(text) == [4, 5])
    }
}
