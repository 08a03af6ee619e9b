import Testing

@testable import HaulAria2
@testable import HaulServer

@Suite struct Aria2OptionTests {
    @Test(
        "values are kept as aria2 reports them",
        arguments: [
            ("max-download-limit", "1M", "1048576"), ("max-download-limit", "10k", "10240"),
            ("max-download-limit", "0", "0"), ("split", " 4", "4"), ("split", "4 ", "4"),
            ("max-download-limit", "1 M", "1048576"), ("max-download-limit", "1MB", "1048576"),
            ("socket-recv-buffer-size", "1M", "1048576"),
            ("split", "16", "16"), ("continue", "", "true"), ("continue", "false", "false"),
            ("all-proxy", "foo", "http://foo/"),
            ("all-proxy", "http://u:p@h:1/", "http://u:p@h:1/"), ("all-proxy", "", ""),
            ("all-proxy", "[::1]:3128", "http://[::1]:3128/"),
            ("seed-ratio", "1.50", "1.50"), ("dir", "", ""), ("dir", "~/x", "~/x"),
            ("gid", "ABCDEF0123456789", "abcdef0123456789"),
            ("checksum", "MD5=D41D8CD98F00B204E9800998ECF8427E", "md5=d41d8cd98f00b204e9800998ecf8427e"),
            ("file-allocation", "falloc", "falloc"), ("select-file", "1-5,8", "1-5,8"), ("index-out", "1=a", "1=a"),
            ("optimize-concurrent-downloads", "5:25", "5:25"), ("no-file-allocation-limit", "5M", "5242880"),
        ]
    )
    func normalizes(_ name: String, _ value: String, _ kept: String) throws {
        #expect(try #require(Aria2Option.named(name)).normalized(value) == kept)
    }

    @Test(
        "values that aria2 refuses are refused",
        arguments: [
            ("split", "0"), ("split", "x"), ("split", "-1"), ("split", "99999999999999999999"), ("split", "5K"),
            ("split", ""), ("split", " "), ("split", "4 4"),
            ("max-connection-per-server", "17"), ("max-connection-per-server", "0"), ("timeout", "601"),
            ("min-split-size", "1K"),
            ("max-download-limit", "1G"), ("max-download-limit", "-1"), ("max-download-limit", "1.5M"),
            ("max-download-limit", "M"),
            ("max-download-limit", "9223372036854775807M"), ("continue", "yes"), ("continue", "TRUE"),
            ("file-allocation", "foo"),
            ("checksum", "sha-1=abc"), ("checksum", "foo=1"), ("checksum", "sha-256"), ("gid", "x"),
            ("gid", "0000000000000000"),
            ("gid", "123"), ("all-proxy", "h:99999"), ("all-proxy", "http://"), ("index-out", "x"),
            ("index-out", "0=a"),
            ("select-file", "x"), ("seed-ratio", "nan"), ("seed-ratio", "-1"), ("piece-length", "100"),
            ("pause", "maybe"),
            ("dir", "a\0b"), ("optimize-concurrent-downloads", "5:x"),
        ]
    )
    func refuses(_ name: String, _ value: String) throws {
        let option = try #require(Aria2Option.named(name))
        let error = try #require(throws: Aria2OptionError.self) { try option.normalized(value) }
        #expect(error.message == "We encountered a problem while processing the option '--\(name)'.")
    }

    @Test func refusesAnEndlessValue() throws {
        let option = try #require(Aria2Option.named("user-agent"))
        #expect(throws: Aria2OptionError.self) { try option.normalized(String(repeating: "a", count: 70_000)) }
    }

    @Test func everyNameAndEveryLetterIsOneOption() {
        #expect(Set(Aria2Option.all.map(\.name)).count == Aria2Option.all.count)
        let letters = Aria2Option.all.compactMap(\.short)
        #expect(Set(letters).count == letters.count)
        #expect(Aria2Option.all.count == 197)
    }

    @Test func everyDefaultIsAValueOfItsOption() throws {
        for option in Aria2Option.all {
            guard let standard = option.standard else { continue }
            #expect(try option.normalized(standard) == standard, "\(option.name)")
        }
    }

    @Test func everyKindRefusesOrKeepsOddTextWithoutHarm() {
        let odd = [
            "", "-", "=", ":", "+1", "1e400", "\u{7F}", "☃", "-9223372036854775808", "0x10", " 1", "1 ", "K", "[",
            "[]:", "@", ",-,",
        ]
        for option in Aria2Option.all {
            for value in odd { _ = try? option.normalized(value) }
        }
    }
}
