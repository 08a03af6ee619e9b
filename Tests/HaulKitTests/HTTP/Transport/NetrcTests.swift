import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

struct NetrcTests {
    @Test func findsTheEntryOfAHost() {
        let netrc = Netrc("machine a.example login ann password one\nmachine b.example\n  login bob\n  password two\n")
        #expect(netrc.credentials(host: "a.example") == "ann:one")
        #expect(netrc.credentials(host: "B.EXAMPLE") == "bob:two")
        #expect(netrc.credentials(host: "c.example") == nil)
        #expect(netrc.credentials(host: "sub.a.example") == nil)
        #expect(netrc.credentials(host: "") == nil)
    }

    @Test func saysWhoElseMayReadTheFile() throws {
        let folder = try TemporaryFolder()
        let path = folder("netrc")
        try "machine a.example login ann password one".write(toFile: path, atomically: true, encoding: .utf8)
        for (mode, isReadable) in [(0o600, false), (0o400, false), (0o644, true), (0o640, true), (0o602, true)] {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
            let netrc = try Netrc(contentsOfFile: path)
            #expect(netrc.isReadableByOthers == isReadable)
            #expect(netrc.credentials(host: "a.example") == "ann:one")
        }
        let missing = #expect(throws: DownloadError.self) { try Netrc(contentsOfFile: path + ".none") }
        #expect(missing?.code == .diskFailed)
    }

    @Test func fallsBackToTheDefault() {
        let netrc = Netrc("machine a.example login ann password one\ndefault login any password all")
        #expect(netrc.credentials(host: "z.example") == "any:all" && netrc.credentials(host: "a.example") == "ann:one")
    }

    @Test func takesTheFirstOfTwoEntries() {
        let netrc = Netrc("machine a login x password 1 machine a login y password 2 default login d default login e")
        #expect(netrc.credentials(host: "a") == "x:1" && netrc.credentials(host: "b") == "d:")
    }

    @Test func needsALogin() {
        #expect(Netrc("machine a password secret").credentials(host: "a") == nil)
        #expect(Netrc("machine a login ann").credentials(host: "a") == "ann:")
    }

    @Test func readsQuotedWordsAndComments() {
        let netrc = Netrc(
            """
            # machine a login no password no
            machine a login "an n" password "pa\\"ss # word" # the end
            machine b login bob account staff password p#w
            """
        )
        #expect(netrc.credentials(host: "a") == "an n:pa\"ss # word")
        #expect(netrc.credentials(host: "b") == "bob:p#w")
    }

    @Test func skipsMacros() {
        let netrc = Netrc(
            "machine a login ann password one\nmacdef init\nmachine b login x password y\n\nmachine c login c password d"
        )
        #expect(netrc.credentials(host: "b") == nil)
        #expect(netrc.credentials(host: "c") == "c:d")
    }

    @Test func readsFilesWithWindowsLineEnds() {
        let netrc = Netrc(
            "# mine\r\nmachine a login ann password one\r\nmacdef m\r\nquit\r\n\r\nmachine b login bob\r\n"
        )
        #expect(netrc.credentials(host: "a") == "ann:one")
        #expect(netrc.credentials(host: "b") == "bob:")
    }

    @Test func takesEntriesThatAreNamedLikeKeywords() {
        let netrc = Netrc("machine machine login password password login")
        #expect(netrc.credentials(host: "machine") == "password:login")
    }

    @Test func neverGivesOneHostsPasswordToAnother() {
        let netrc = Netrc("machine a login ann password #one\nmachine b login bob password two # a comment")
        #expect(netrc.credentials(host: "b") == "bob:two")
        #expect(netrc.credentials(host: "a") == "ann:#one")
    }

    @Test func neverTraps() {
        let alphabet = [
            "machine a ", "login ", "password ", "default ", "machine", "macdef", "account", " ", "\n", "\n\n", "\r\n",
            "\t", "\"",
            "\\", "#", "a", "é", "\0",
        ]
        var found = 0
        for text in HostileStrings(of: alphabet, count: 4000, upTo: 9, seed: 8) {
            if Netrc(text).credentials(host: "a") != nil { found += 1 }
        }
        #expect(found > 5)
    }
}
