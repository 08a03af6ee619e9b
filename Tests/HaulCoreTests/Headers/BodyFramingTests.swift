import Testing

@testable import HaulCore

struct BodyFramingTests {
    private func framing(_ fields: (String, String)...) -> BodyFraming { BodyFraming(HeaderFields(fields)) }

    private func isMalformed(_ framing: BodyFraming) -> Bool {
        if case .malformed = framing { true } else { false }
    }

    @Test(arguments: ["9223372036854775808", "99999999999999999999999999"])
    func saysSoOfALengthBeyondAnyFiles(_ length: String) {
        #expect(
            framing(("Content-Length", length)) == .malformed("a length of more bytes than any file has: \(length)")
        )
    }

    /// A server may send the cookie back that it got.
    @Test func namesNoTextOfTheServerButKnownCodings() {
        #expect(framing(("Content-Length", "sid=12a")) == .malformed("a length that is no number"))
        #expect(
            framing(("Transfer-Encoding", "sid=12a, gzip"))
                == .malformed("a transfer coding that Haul does not read: an unknown one, gzip")
        )
    }

    @Test(arguments: ["chunked", "Chunked", " CHUNKED\t", ",chunked,"])
    func takesChunked(_ coding: String) {
        #expect(framing(("Transfer-Encoding", coding)) == .chunked)
        #expect(framing(("transfer-encoding", coding), ("Content-Length", "5")) == .chunked)
    }

    @Test(arguments: ["identity", "Identity", "", " ", ","])
    func readsToTheCloseWhereTheCodingIsNone(_ coding: String) {
        #expect(framing(("Transfer-Encoding", coding)) == .untilClose)
        #expect(framing(("Transfer-Encoding", coding), ("Content-Length", "5")) == .length(5))
    }

    @Test(arguments: [
        "gzip", "gzip, chunked", "chunked, gzip", "pigeons", "chunked, chunked", "identity, chunked", "chunked;q=1",
        "\"chunked\"", "chunked chunked", "xchunked", "identity, identity",
    ])
    func refusesEveryOtherCoding(_ coding: String) {
        #expect(isMalformed(framing(("Transfer-Encoding", coding))))
        #expect(isMalformed(framing(("Transfer-Encoding", coding), ("Content-Length", "5"))))
    }

    @Test func refusesACodingInTwoFields() {
        #expect(isMalformed(framing(("Transfer-Encoding", "chunked"), ("Transfer-Encoding", "chunked"))))
        #expect(isMalformed(framing(("Transfer-Encoding", "gzip"), ("Transfer-Encoding", "chunked"))))
    }

    @Test func takesEqualLengthsForOne() {
        #expect(framing(("Content-Length", "5"), ("Content-Length", "5")) == .length(5))
        #expect(framing(("Content-Length", "5, 5"), ("Content-Length", "05")) == .length(5))
    }

    @Test(arguments: ["", "-1", "+5", "5 5", "5, 6", "0x5", "5;", "9223372036854775808", "٥"])
    func refusesALengthThatIsNone(_ length: String) {
        #expect(isMalformed(framing(("Content-Length", length))))
        #expect(isMalformed(framing(("Content-Length", "5"), ("Content-Length", length))))
    }

    @Test func refusesLengthsThatDiffer() {
        #expect(isMalformed(framing(("Content-Length", "5"), ("Content-Length", "6"))))
    }
}
