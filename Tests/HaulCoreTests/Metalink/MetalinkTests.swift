import Foundation
import Testing

@testable import HaulCore

struct MetalinkTests {
    @Test func readsADocumentOfTwoFiles() throws {
        let metalink = try Metalink(
            text: """
                <?xml version="1.0" encoding="UTF-8"?>
                <!-- An example. -->
                <metalink xmlns="urn:ietf:params:xml:ns:metalink" xmlns:x="https://example.org/extension">
                  <published>2026-01-02T03:04:05Z</published>
                  <generator>hand/1.0</generator>
                  <file name="disk images/haul-1.0.iso">
                    <size>2500</size>
                    <identity>Haul</identity>
                    <language>en</language>
                    <x:url priority="1">https://wrong.example/extension</x:url>
                    <hash type="md5">\(MetalinkText.md5)</hash>
                    <hash type="sha-256">\(MetalinkText.sha256)</hash>
                    <hash type="whirlpool">00</hash>
                    <pieces length="1000" type="sha-1">
                      <hash>\(MetalinkText.sha1)</hash>
                      <hash>\(MetalinkText.sha1.uppercased())</hash>
                      <hash>
                        \(MetalinkText.sha1.prefix(20))
                        \(MetalinkText.sha1.suffix(20))
                      </hash>
                    </pieces>
                    <metaurl mediatype="torrent" priority="1">https://one.example/haul.torrent</metaurl>
                    <url>https://last.example/haul.iso</url>
                    <url location="de" priority="2">https://two.example/haul.iso?a=1&amp;b=2</url>
                    <url location="FR" priority="1">
                      http://one.example:8080/haul.iso
                    </url>
                    <url priority="1">ftp://one.example/haul.iso</url>
                    <url location="se" priority="2"><![CDATA[https://three.example/haul.iso?a=1&b=2]]></url>
                    <signature mediatype="application/pgp-signature">-----BEGIN PGP SIGNATURE-----</signature>
                  </file>
                  <?instruction with data?><!---->
                  <file name="README"><url>https://one.example/README</url></file>
                </metalink>
                """
        )
        #expect(metalink.files.map(\.name) == ["disk images/haul-1.0.iso", "README"])
        let file = metalink.files[0]
        #expect(file.size == 2500)
        #expect(file.checksum?.description == "sha256:" + MetalinkText.sha256)
        #expect(file.pieces?.algorithm == .sha1 && file.pieces?.pieceLength == 1000 && file.pieces?.digests.count == 3)
        #expect(Set(try #require(file.pieces).digests) == [Array(repeating: 0x1A, count: 20)])
        #expect(
            file.sources.map(\.url.absoluteString) == [
                "http://one.example:8080/haul.iso", "https://two.example/haul.iso?a=1&b=2",
                "https://three.example/haul.iso?a=1&b=2", "https://last.example/haul.iso",
            ]
        )
        #expect(file.sources.map(\.priority) == [1, 2, 2, 999_999])
        #expect(file.sources.map(\.location) == ["fr", "de", "se", nil])
        let readme = metalink.files[1]
        #expect(readme.size == nil && readme.checksum == nil && readme.pieces == nil && readme.sources.count == 1)
    }

    @Test func readsADocumentOfVersionThree() throws {
        let metalink = try Metalink(
            text: """
                <?xml version='1.0' encoding='utf-8'?>
                <metalink version="3.0" type="static" xmlns="http://www.metalinker.org/">
                  <publisher><name>Example</name><url>https://example.org/</url></publisher>
                  <files>
                    <file name="haul.iso">
                      <size>12</size>
                      <verification>
                        <hash type="sha1">\(MetalinkText.sha1)</hash>
                        <hash type="md5">\(MetalinkText.md5)</hash>
                        <signature type="pgp" file="haul.iso.sig">-----BEGIN</signature>
                        <pieces type="sha1" length="10">
                          <hash piece="0">\(MetalinkText.sha1)</hash><hash piece="1">\(MetalinkText.sha1)</hash>
                        </pieces>
                      </verification>
                      <resources maxconnections="2">
                        <url type="bittorrent" preference="100">http://one.example/haul.iso.torrent</url>
                        <url type="ftp" preference="90">ftp://one.example/haul.iso</url>
                        <url type="http" location="us">http://unranked.example/haul.iso</url>
                        <url type="http" location="jp" preference="10">http://ten.example/haul.iso</url>
                        <url type="HTTPS" preference="100">https://hundred.example/haul.iso</url>
                        <url preference="0">https://zero.example/haul.iso</url>
                        <url preference="101">https://odd.example/haul.iso</url>
                      </resources>
                    </file>
                  </files>
                </metalink>
                """
        )
        let file = try #require(metalink.files.first)
        #expect(metalink.files.count == 1 && file.name == "haul.iso" && file.size == 12)
        #expect(file.checksum?.algorithm == .sha1)
        #expect(file.pieces?.digests.count == 2)
        #expect(
            file.sources.map { $0.url.host() } == [
                "hundred.example", "ten.example", "zero.example", "unranked.example", "odd.example",
            ]
        )
        #expect(file.sources.map(\.priority) == [1, 91, 101, 999_999, 999_999])
        #expect(file.sources.map(\.location) == [nil, "jp", nil, "us", nil])
    }

    @Test(arguments: [
        "<!-- before --><metalink xmlns='urn:ietf:params:xml:ns:metalink'>",
        "\u{FEFF}<?xml version=\"1.0\"?>\r\n<metalink xmlns='urn:ietf:params:xml:ns:metalink'>",
        "<?xml version='1.0' encoding = 'ASCII' standalone='yes'?><metalink xmlns='urn:ietf:params:xml:ns:metalink'>",
        "<?xml version='1.1'?><metalink xmlns='urn:ietf:params:xml:ns:metalink'>",
        "<metalink xmlns='urn:ietf:params:xml:ns:metalink' xmlns:r='relative'>",
    ])
    func readsDifferentBeginnings(_ beginning: String) throws {
        let metalink = try Metalink(text: beginning + "<file name='a'>\(MetalinkText.url)</file></metalink>")
        #expect(metalink.files.map(\.name) == ["a"])
    }

    @Test func readsElementsWithAPrefix() throws {
        let text = """
            <m:metalink xmlns:m="urn:ietf:params:xml:ns:metalink" xmlns="https://example.org/">
            <m:file name="a" m:name="b">
            <m:url>https://one.example/a</m:url><url>https://wrong.example/a</url><size>x</size></m:file></m:metalink>
            """
        let file = try #require(try Metalink(text: text).files.first)
        #expect(file.name == "a" && file.size == nil && file.sources.map { $0.url.host() } == ["one.example"])
    }

    @Test func passesOverElementsWhereTheyDoNotBelong() throws {
        let url = "<url>https://wrong.example/</url>"
        let file = "<file name=\"b\">\(url)</file><files>\(url)</files><resources>\(url)</resources><hash>\(url)</hash>"
        let metalink = try Metalink(text: MetalinkText.four("\(MetalinkText.url)\(file)<x>\(url)<size>no</size></x>"))
        #expect(metalink.files.map(\.name) == ["a.iso"])
        #expect(metalink.files[0].sources.map { $0.url.host() } == ["one.example"])
        #expect(metalink.files[0].size == nil)
    }

    @Test func takesTheStrongestHashAndPiecesInWhateverOrder() throws {
        let hashes = [
            "<hash type=\"sha-1\">\(MetalinkText.sha1)</hash>", "<hash type=\"SHA512\">\(MetalinkText.sha512)</hash>",
            "<hash type=\"md5\">\(MetalinkText.md5)</hash>", "<hash type=\"sha3-512\">zz</hash>", "<hash>zz</hash>",
        ]
        let pieces = [
            MetalinkText.pieces("8", [MetalinkText.md5, MetalinkText.md5], type: "md5"),
            MetalinkText.pieces("4", Array(repeating: MetalinkText.sha256, count: 4), type: "sha-256"),
            MetalinkText.pieces("0", ["zz"], type: "tiger"),
        ]
        for order in [hashes + pieces, hashes.reversed() + pieces.reversed()] {
            let file = try #require(
                try Metalink(text: MetalinkText.four("<size>16</size>\(order.joined())\(MetalinkText.url)")).files.first
            )
            #expect(file.checksum?.algorithm == .sha512)
            #expect(file.pieces?.algorithm == .sha256 && file.pieces?.digests.count == 4)
        }
    }

    @Test(arguments: [
        ("1", 1), ("999999", 999_999), ("0", 999_999), ("-1", 999_999), ("1000000", 999_999), ("+1", 999_999),
        ("", 999_999), ("first", 999_999), ("99999999999999999999", 999_999), ("1.5", 999_999),
    ])
    func takesAnOddPriorityForTheLowest(_ text: String, _ priority: Int) throws {
        let url = "<url priority=\"\(text)\">https://one.example/</url>"
        #expect(try Metalink(text: MetalinkText.four(url)).files.first?.sources.first?.priority == priority)
    }

    @Test(arguments: [
        "", " ", "a.iso", "/a.iso", "//one.example/a.iso", "ftp://one.example/a.iso", "magnet:?xt=urn:btih:0", "http:",
        "http://", "https:///a.iso", "http://one.example:0/", "http://one.example:99999/", "file:///etc/passwd",
        "http://one.example:x/a", "http://one .example/a", "javascript:alert(1)", "http://one.example/<x/>",
        "rsync://one.example/a", "http://[::1/", "http://one.example/" + String(repeating: "a", count: 8192),
    ])
    func passesOverURLsThatItCannotAsk(_ url: String) throws {
        let one = "<url>\(url)</url>"
        #expect(try Metalink(text: MetalinkText.four(one + MetalinkText.url)).files.first?.sources.count == 1)
        #expect(refusal(MetalinkText.four(one))?.contains("the file a.iso has no http or https URL") == true)
    }

    @Test func keepsEachURLOnceWithItsBestPriority() throws {
        let urls = "<url>https://a.example/</url><url priority=\"5\">https://b.example/</url>"
        let again = "<url priority=\"3\">https://a.example/</url><url priority=\"9\">https://b.example/</url>"
        let file = try #require(try Metalink(text: MetalinkText.four(urls + again)).files.first)
        #expect(file.sources.map { $0.url.host() } == ["a.example", "b.example"])
        #expect(file.sources.map(\.priority) == [3, 5])
    }

    @Test func keepsTheBestOfTooManySources() throws {
        let urls = (1...5000).map { "<url priority=\"\(5001 - $0)\">https://h\($0).example/</url>" }
        let file = try #require(try Metalink(text: MetalinkText.four(urls.joined())).files.first)
        #expect(file.sources.count == Metalink.maximumSources)
        #expect(file.sources.map(\.priority) == Array(1...Metalink.maximumSources))
        let equal = (1...5000).map { "<url>https://h\($0 / 2).example/</url>" }
        let first = try #require(try Metalink(text: MetalinkText.four(equal.joined())).files.first)
        #expect(first.sources.map { $0.url.host() } == (0..<Metalink.maximumSources).map { "h\($0).example" })
    }

    @Test func acceptsPiecesOfAnEmptyFileAndOfAFileOfUnknownSize() throws {
        let empty = MetalinkText.four("<size>0</size>\(MetalinkText.pieces("1024", []))\(MetalinkText.url)")
        #expect(try Metalink(text: empty).files.first?.pieces == nil)
        let unknown = MetalinkText.four(MetalinkText.pieces("1024", [MetalinkText.sha1]) + MetalinkText.url)
        #expect(try Metalink(text: unknown).files.first?.pieces?.digests.count == 1)
    }
}
