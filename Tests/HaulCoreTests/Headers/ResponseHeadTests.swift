import Testing

@testable import HaulCore

struct ResponseHeadTests {
    private func head(_ fields: [(String, String)]) -> ResponseHead {
        var head = ResponseHead.answer(200)
        head.headers = HeaderFields(fields)
        return head
    }

    @Test(arguments: [("0", 0), ("5", 5), ("0005", 5), ("9223372036854775807", Int64.max)])
    func readsALength(_ text: String, _ length: Int64) {
        #expect(head([("content-length", text)]).contentLength == length)
    }

    @Test(arguments: [
        "", "-1", "+5", "5 ", " 5", "0x5", "5, 5", "5,6", "9223372036854775808", "99999999999999999999999", "٥", "5.0",
        "5\0", "1e3", "five",
    ])
    func trustsNoLengthThatIsNotPlainDigits(_ text: String) {
        let head = head([("Content-Length", text)])
        #expect(head.contentLength == nil && !head.isFramed)
    }

    @Test func trustsNoLengthThatIsSaidTwiceDifferently() {
        #expect(head([("Content-Length", "5"), ("content-length", "6")]).contentLength == nil)
        #expect(head([("Content-Length", "5"), ("content-length", "5")]).contentLength == 5)
        #expect(head([("Content-Length", "5"), ("content-length", "05")]).contentLength == nil)
    }

    @Test func letsATransferCodingOverruleTheLength() {
        let head = head([("Content-Length", "5"), ("Transfer-Encoding", "chunked")])
        #expect(head.contentLength == nil && head.isFramed)
    }

    @Test(arguments: [
        ("text/html", "text/html"), ("Text/HTML; charset=x", "text/html"), (" text/html ;x", "text/html"), ("", ""),
        (";", ""), (";;;", ""), ("text/html;;", "text/html"), ("\ttext/html", "text/html"),
    ])
    func readsTheMediaTypeAlone(_ text: String, _ type: String) {
        #expect(head([("Content-Type", text)]).mediaType == type)
    }

    @Test func seesAPageInHTMLAndXHTMLOnly() {
        for type in ["text/html", "application/xhtml+xml;x", "TEXT/html"] {
            #expect(head([("Content-Type", type)]).isWebPage)
        }
        for type in ["text/htm", "text/html5", "application/xml", "", "text/plain; text/html"] {
            #expect(!head([("Content-Type", type)]).isWebPage)
        }
        #expect(!head([]).isWebPage)
    }

    @Test(arguments: [
        ("gzip", "gzip"), ("GZip", "gzip"), ("identity", nil), ("", nil), ("identity, gzip", "gzip"), (" , ,", nil),
        ("gzip, br", "gzip, br"), ("Identity", nil), ("identity;q=1", "identity;q=1"),
    ])
    func findsEveryCodingButIdentity(_ text: String, _ coding: String?) {
        #expect(head([("Content-Encoding", text)]).contentCoding == coding)
    }

    @Test func findsACodingInASecondLine() {
        #expect(head([("Content-Encoding", "identity"), ("Content-Encoding", "br")]).contentCoding == "br")
    }

    @Test func takesNoDateOrTagThatCannotBeReadForAStrongOne() {
        let validator = Validator(head([("ETag", "no quotes"), ("Last-Modified", "yesterday"), ("Date", "today")]))
        #expect(
            validator.entityTag?.isWeak == true && validator.lastModified == "yesterday"
                && !validator.lastModifiedIsStrong
        )
    }

    @Test func neverTrapsOnHostileFields() {
        let alphabet = [
            "bytes ", "0-4/5", "*/5", "\"", "W/", "gzip", ",", ";", "\0", "9223372036854775807", "-", "=", ":",
            "sha-256",
            "\u{FFFD}", "é", " ", "chunked", "Sun, 06 Nov 1994 08:49:37 GMT", "text/html",
        ]
        let names = [
            "Content-Length", "Content-Range", "ETag", "Content-Type", "Content-Encoding", "Repr-Digest", "Digest",
            "Last-Modified", "Date", "Transfer-Encoding", "Retry-After", "Content-Disposition",
        ]
        let known = Resource(total: 5, validator: Validator(entityTag: EntityTag("\"a\"")))
        let question = RangeRequest.resuming(known, at: 2, resumesUnverified: true)
        var accepted = 0
        let values = Array(HostileStrings(of: alphabet, count: 6000, upTo: 4, seed: 11))
        for (index, value) in values.enumerated() {
            var head = head([(names[index % names.count], value), (names[(index / 7) % names.count], value)])
            head.status = [200, 206, 416, 503][index % 4]
            #expect((head.contentLength ?? 0) >= 0)
            if case .accept = RangeResponse.judge(head, to: .whole) { accepted += 1 }
            if case .accept(_, let offset, let compare) = RangeResponse.judge(head, to: question) {
                #expect(offset == 2 && compare <= 2, "\(value.debugDescription)")
            }
        }
        #expect(accepted > 500)
    }
}
