import Testing

@testable import HaulCore

struct ContentDispositionTests {
    @Test(arguments: [
        ("attachment; filename=example.html", "example.html"),
        ("attachment; filename=\"foo bar.txt\"", "foo bar.txt"),
        ("INLINE; FileName= \"an example.html\"", "an example.html"),
        ("x-unknown;filename=a.txt;foo=bar", "a.txt"),
        ("attachment ;\tfilename\t=\ta.txt\t; x=y", "a.txt"),
        ("attachment; filename=foo bar.txt; size=3", "foo bar.txt"),
        ("attachment; filename=\"a;b=c.txt\"", "a;b=c.txt"),
        ("attachment; filename=\"a\\\"b\\\\\"", ""),
        ("attachment; filename=\"say \\\"hi\\\".txt\"", "say \"hi\".txt"),
        ("attachment; filename=\"open.txt", "open.txt"),
        ("filename=bare.txt", "bare.txt"),
        ("attachment; filename=\"first.txt\"; filename=\"second.txt\"", "first.txt"),
        ("attachment; filename=\"\"; filename=second.txt", "second.txt"),
        ("attachment; foo=\"x; filename=evil.txt\"; filename=good.txt", "good.txt"),
        ("attachment; filename=\"naïve 🦊.txt\"", "naïve 🦊.txt"),
        ("attachment; filename=\"a%20b.txt\"", "a%20b.txt"),
    ])
    func readsFileName(_ text: String, _ name: String) {
        #expect(ContentDisposition.fileName(text) == (name.isEmpty ? nil : name))
    }

    @Test(arguments: [
        ("attachment; filename*=UTF-8''%e2%82%ac%20rates", "€ rates"),
        ("attachment; filename=\"EURO rates\"; filename*=utf-8'en'%e2%82%ac%20rates", "€ rates"),
        ("attachment; FILENAME*=ISO-8859-1''%A3%20rates; filename=x", "£ rates"),
        ("attachment; filename*=\"UTF-8''quoted%20name\"", "quoted name"),
        ("attachment; filename*=UTF-8''it's.txt", "it's.txt"),
        ("attachment; filename*=utf8''na%C3%AFve.txt", "naïve.txt"), ("attachment; filename*=UTF8''%E2%82%AC", "€"),
        ("attachment; filename*=windows-1252''%80%20%93x%94", "€ “x”"),
        ("attachment; filename*=latin1''caf%E9", "café"),
        ("attachment; filename*=ISO-8859-15''%A4.txt", "€.txt"), ("attachment; filename*=iso-8859-2''%B9.txt", "š.txt"),
        ("attachment; filename*=EUC-JP'ja'%C6%FC%CB%DC%B8%EC.txt", "日本語.txt"),
        ("attachment; filename*=euc-kr''%C7%D1%B1%B9%BE%EE.txt", "한국어.txt"),
        ("attachment; filename*=windows-1251''%CF%F0%E8.txt", "При.txt"),
    ])
    func prefersTheExtendedName(_ text: String, _ name: String) {
        #expect(ContentDisposition.fileName(text) == name)
    }

    @Test(arguments: [
        "UTF-8''%FF%FE", "UTF-8''%4", "UTF-8''%", "UTF-8''%zz", "KOI8-R''%C1", "a.txt", "UTF-8'a.txt", "''a.txt",
        "UTF-8''",
        "UTF-8''naïve.txt", "UTF-8''a%2F", "",
    ])
    func fallsBackFromAnInvalidExtendedName(_ value: String) {
        #expect(ContentDisposition.fileName("attachment; filename*=\(value); filename=plain.txt") == "plain.txt")
        #expect(ContentDisposition.fileName("attachment; filename*=\(value)") == nil)
    }

    @Test(arguments: [
        ("=?utf-8?B?bmHDr3ZlLnR4dA==?=", "naïve.txt"), ("=?UTF-8?Q?na=C3=AFve_1.txt?=", "naïve 1.txt"),
        ("=?iso-8859-1?q?na=EFve.txt?=", "naïve.txt"), ("=?utf-8*en?Q?a?= =?utf-8?Q?b?=.txt", "ab.txt"),
        ("=?utf-8?Q?a?= c =?utf-8?Q?b?=", "a c b"), ("=?utf-8?B?Li4vLi4vZXZpbA==?=", "evil"),
        ("=?utf-8?B?!!!?=", "=?utf-8?B?!!!?="), ("=?utf-8?Q?=FF?=", "=?utf-8?Q?=FF?="),
        ("=?windows-1252?Q?=80_x?=", "€ x"), ("=?ISO-8859-15?B?pA==?=", "€"), ("=?utf8?Q?na=C3=AFve?=", "naïve"),
        ("=?windows-1251?B?z/Do?=", "При"), ("=?EUC-JP?B?xvzL3LjsLnR4dA==?=", "日本語.txt"),
        ("=?euc-kr?B?x9Gxub7uLnR4dA==?=", "한국어.txt"),
        ("=?big5?B?YQ==?=", "=?big5?B?YQ==?="),
        ("=?utf-8?X?a?=", "=?utf-8?X?a?="), ("=?utf-8?Q?open", "=?utf-8?Q?open"), ("a=?b", "a=?b"),
    ])
    func decodesMailStyleWords(_ value: String, _ name: String) {
        #expect(ContentDisposition.fileName("attachment; filename=\"\(value)\"") == name)
    }

    @Test(arguments: [
        "attachment; filename=\"../../etc/passwd\"", "attachment; filename=/etc/passwd",
        "attachment; filename=\"C:\\\\Windows\\\\passwd\"", "attachment; filename*=UTF-8''..%2F..%5Cpasswd",
        "attachment; filename=\"a/\u{301}/passwd\"",
    ])
    func keepsOnlyTheLastPathSegment(_ text: String) {
        #expect(ContentDisposition.fileName(text) == "passwd")
    }

    @Test func splitsAtASlashThatCarriesACombiningMark() {
        #expect(ContentDisposition.fileName("attachment; filename=\"../\u{301}x\"") == "\u{301}x")
    }

    @Test(arguments: [
        "", "attachment", "inline;", ";;;", "attachment; filename", "attachment; filename=", "attachment; filename=\"",
        "attachment; filename=\"\"", "attachment; filename=\"a/\"", "attachment; xfilename=a",
        "attachment; filename*0=a",
        "attachment; name=a.txt", "=", "==;=",
    ])
    func findsNoneWhereThereIsNone(_ text: String) {
        #expect(ContentDisposition.fileName(text) == nil)
    }

    @Test func neverTraps() {
        let alphabet = [
            "attachment", ";", ";", "filename", "filename*", "filename=", "filename*=UTF-8''", "iso-8859-1''", "=",
            "\"", "\"",
            "\\", "/", "%", "%2", "%e2%82%ac", "%FF", "%00", "'", "=?", "?=", "=?utf-8?B?", "=?utf-8?Q?", "YQ==", "_",
            " ",
            "\t", "\0", "é", "\u{301}", "🦊", "a",
        ]
        var found = 0
        for text in HostileStrings(of: alphabet, count: 8000, upTo: 16, seed: 5) {
            guard let name = ContentDisposition.fileName(text) else { continue }
            found += 1
            #expect(!name.isEmpty)
            #expect(!name.utf8.contains { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") })
        }
        #expect(found > 100)
    }

    @Test(.timeLimit(.minutes(60)), arguments: ["=?", "=?utf-8?Q?", "=?utf-8?B??= ", "filename*=';", "\\\"", "=?a?"])
    func readsLongFieldsInLinearTime(_ part: String) {
        let text = "attachment; filename=\"" + String(repeating: part, count: 50_000)
        let name = ContentDisposition.fileName(text)
        #expect((name?.utf8.count ?? 0) <= text.utf8.count)
    }
}
