import Foundation
import HaulKit
import Testing

@testable import HaulAria2
@testable import HaulServer

@Suite struct GIDTests {
    @Test func readsAndWritesSixteenDigits() throws {
        let gid = try #require(GID("00ABCDEF01234567"))
        #expect(gid.description == "00abcdef01234567")
        #expect(gid.abbreviated == "00abcd")
    }

    @Test(arguments: [
        "", "0", "0000000000000000", "123", "00abcdef0123456", "00abcdef012345678", "+0abcdef01234567", "☃☃☃☃☃☃☃☃",
        "00abcdef0123456g",
    ])
    func refuses(_ text: String) { #expect(GID(text) == nil) }

    @Test func aPrefixIsARange() throws {
        #expect(GID.range(ofPrefix: "f") == 0xF000_0000_0000_0000...0xFFFF_FFFF_FFFF_FFFF)
        #expect(GID.range(ofPrefix: "00abcdef01234567") == 0x00AB_CDEF_0123_4567...0x00AB_CDEF_0123_4567)
        for text in ["", "x", "-1", "00abcdef012345678"] { #expect(GID.range(ofPrefix: text) == nil) }
    }

    @Test func aDownloadHasTheSameGIDInEveryProcess() throws {
        let id = try #require(DownloadID("01900000-0000-7000-8123-456789abcdef"))
        #expect(GID(id).description == "8123456789abcdef")
        let zero = try #require(DownloadID("01900000-0000-7000-0000-000000000000"))
        #expect(GID(zero).number == 1)
    }

    @Test func codesAsItsText() throws {
        let gid = try #require(GID("00abcdef01234567"))
        let data = try JSONEncoder().encode([gid])
        #expect(String(decoding: data, as: UTF8.self) == #"["00abcdef01234567"]"#)
        #expect(try JSONDecoder().decode([GID].self, from: data) == [gid])
        #expect(throws: DecodingError.self) { try JSONDecoder().decode([GID].self, from: Data(#"["x"]"#.utf8)) }
    }
}
