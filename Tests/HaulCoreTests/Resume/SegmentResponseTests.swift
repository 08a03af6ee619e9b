import Foundation
import Testing

@testable import HaulCore

/// Answers to `Range: bytes=100-199` for a file of 1000 bytes with the tag `"a"`.
struct SegmentResponseTests {
    private func question(provable: Bool, tag: String?, comparesSeam: Bool) -> RangeRequest {
        let resource = Resource(total: 1000, validator: Validator(entityTag: tag.flatMap(EntityTag.init)))
        var question = RangeRequest.further(100..<200, of: resource, isPlain: false, comparesSeam: comparesSeam)
        question.terms.hasDigest = provable
        return question
    }

    private func judge(
        _ status: Int,
        _ headers: [(String, String)],
        isMirror: Bool = false,
        provable: Bool = false,
        tag: String? = "\"a\"",
        comparesSeam: Bool = false
    ) -> String {
        let url = link("http://h.example/f.iso")
        let head = ResponseHead(status: status, headers: HeaderFields(headers), url: url, requested: url)
        let question = question(provable: provable, tag: tag, comparesSeam: comparesSeam)
        return switch SegmentResponse.judge(head, to: question, isMirror: isMirror) {
        case .accept: "accept"
        case .changed: "changed"
        case .noUsableRange: "no range"
        case .otherFile: "other file"
        case .refused(let status): "refused \(status)"
        }
    }

    private static let range = ("Content-Range", "bytes 100-199/1000")
    private static let tag = ("ETag", "\"a\"")

    @Test(
        arguments: [
            ([range, tag], "accept"),
            // Without the tag, the answer does not prove that the server checked the condition.
            ([range], "no range"), ([range, ("ETag", "W/\"a\"")], "no range"),
            ([("Content-Range", "bytes 100-149/1000"), tag], "accept"),
            ([("Content-Range", "bytes 100-199/*"), tag], "accept"),
            ([range, ("ETag", "\"b\"")], "changed"),
            ([("Content-Range", "bytes 100-199/1001"), tag], "changed"),
            ([tag], "no range"),
            ([("Content-Range", "bytes 100-200/1000"), tag], "no range"),
            ([("Content-Range", "bytes 101-199/1000"), tag], "no range"),
            ([("Content-Range", "bytes 99-199/1000"), tag], "no range"),
            ([("Content-Range", "lines 100-199/1000"), tag], "no range"),
            ([("Content-Range", "bytes */1000"), tag], "no range"),
            ([("Content-Range", "bytes 199-100/1000"), tag], "no range"),
            ([("Content-Range", "bytes 100-99999999999999999999/1000"), tag], "no range"),
            ([range, tag, ("Content-Length", "100")], "accept"),
            ([range, tag, ("Content-Length", "99")], "no range"),
            ([range, tag, ("Content-Encoding", "gzip")], "no range"),
            ([range, tag, ("Content-Type", "multipart/byteranges; boundary=x")], "no range"),
        ] as [([(String, String)], String)]
    )
    func judgesAPartOfTheHomeSource(_ headers: [(String, String)], _ decision: String) {
        #expect(judge(206, headers) == decision)
    }

    /// Under a weak validator, or none, the bytes before the range come too, and the answer has to say the same as the
    /// first one.
    @Test(
        arguments: [
            ("W/\"a\"", "bytes 0-199/1000", "W/\"a\"", "accept"), (nil, "bytes 0-199/1000", nil, "accept"),
            ("W/\"a\"", "bytes 0-199/1000", "\"a\"", "accept"),
            ("W/\"a\"", "bytes 100-199/1000", "W/\"a\"", "no range"),
            ("W/\"a\"", "bytes 0-99/1000", "W/\"a\"", "no range"),
            ("W/\"a\"", "bytes 0-199/*", "W/\"a\"", "no range"),
            ("W/\"a\"", "bytes 0-199/1001", "W/\"a\"", "changed"),
            ("W/\"a\"", "bytes 0-199/1000", "W/\"b\"", "changed"), ("W/\"a\"", "bytes 0-199/1000", nil, "no range"),
            (nil, "bytes 0-199/1000", "W/\"a\"", "no range"), (nil, "bytes 0-199/*", nil, "no range"),
            ("\"a\"", "bytes 0-199/1000", "W/\"a\"", "no range"),
        ] as [(String?, String, String?, String)]
    )
    func judgesAnAnswerWhoseBytesAreCompared(_ known: String?, _ range: String, _ tag: String?, _ decision: String) {
        let headers = [("Content-Range", range)] + (tag.map { [("ETag", $0)] } ?? [])
        #expect(judge(206, headers, tag: known, comparesSeam: true) == decision)
    }

    @Test(
        arguments: [
            (200, [tag], "no range"), (200, [], "no range"), (200, [("ETag", "\"b\"")], "changed"),
            (200, [("ETag", "\"b\""), ("Content-Type", "text/html")], "no range"),
            (412, [], "changed"), (416, [("Content-Range", "bytes */50")], "changed"),
            (403, [], "refused 403"), (429, [], "refused 429"), (503, [], "refused 503"), (404, [], "refused 404"),
            (204, [], "refused 204"), (304, [], "refused 304"), (100, [], "refused 100"),
        ] as [(Int, [(String, String)], String)]
    )
    func judgesOtherStatesOfTheHomeSource(_ status: Int, _ headers: [(String, String)], _ decision: String) {
        #expect(judge(status, headers) == decision)
    }

    @Test(
        arguments: [
            (206, [range, tag], "other file"), (206, [range, ("ETag", "\"b\"")], "other file"),
            (206, [range], "other file"), (206, [range, ("ETag", "W/\"a\"")], "other file"),
            (206, [("Content-Range", "bytes 100-199/999"), tag], "other file"),
            (200, [tag], "no range"), (412, [], "other file"), (416, [], "other file"), (404, [], "refused 404"),
        ] as [(Int, [(String, String)], String)]
    )
    func joinsNoMirrorWithoutADigestWhateverItsTag(_ status: Int, _ headers: [(String, String)], _ decision: String) {
        #expect(judge(status, headers, isMirror: true) == decision)
    }

    @Test(
        arguments: [
            ([range, ("ETag", "\"b\"")], "accept"), ([range], "accept"),
            ([("Content-Range", "bytes 100-199/999")], "other file"),
            // Not even the length is known to be equal.
            ([("Content-Range", "bytes 100-199/*")], "other file"),
        ] as [([(String, String)], String)]
    )
    func joinsAnyMirrorOfTheSameLengthWhereADigestProvesTheWhole(_ headers: [(String, String)], _ decision: String) {
        #expect(judge(206, headers, isMirror: true, provable: true) == decision)
    }

    @Test func joinsAPartWithoutAVersionWhereADigestProvesTheWhole() {
        #expect(judge(206, [Self.range], provable: true) == "accept")
    }

    @Test func joinsByAStrongDateOnlyIfTheAnswerRepeatsIt() {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT"
        let known = Resource(total: 1000, validator: Validator(lastModified: date, lastModifiedIsStrong: true))
        let question = RangeRequest.further(100..<200, of: known, isPlain: false)
        let named = ResponseHead.answer(206, ["Content-Range": "bytes 100-199/1000", "Last-Modified": date])
        guard case .accept = SegmentResponse.judge(named, to: question, isMirror: false) else {
            Issue.record("not accepted")
            return
        }
        let unnamed = ResponseHead.answer(206, ["Content-Range": "bytes 100-199/1000"])
        #expect(SegmentResponse.judge(unnamed, to: question, isMirror: false) == .noUsableRange)
    }

    @Test func acceptsNothingThatWasNotAskedForByARange() {
        let url = link("http://h.example/f.iso")
        let head = ResponseHead(status: 206, headers: [:], url: url, requested: url)
        #expect(SegmentResponse.judge(head, to: .whole, isMirror: false) == .noUsableRange)
    }

    @Test func joinsNothingByADateBesideAWeakTag() {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT"
        let tag = EntityTag("W/\"a\"")
        let known = Resource(
            total: 1000,
            validator: Validator(entityTag: tag, lastModified: date, lastModifiedIsStrong: true)
        )
        let question = RangeRequest.further(100..<200, of: known, isPlain: false)
        #expect(question.condition == .none)
        let named = ResponseHead.answer(
            206,
            ["Content-Range": "bytes 100-199/1000", "Last-Modified": date, "ETag": "W/\"a\""]
        )
        #expect(SegmentResponse.judge(named, to: question, isMirror: false) == .noUsableRange)
    }

    /// The tag of another resource may be equal by chance.
    @Test(arguments: [
        ("http://h.example/v2/f.iso", false), ("http://g.example/v1/f.iso", false),
        ("http://h.example/v1/f.iso?b", true),
    ])
    func takesNothingFromAnotherPathThatARedirectLeadsTo(_ url: String, _ isTaken: Bool) {
        var question = question(provable: false, tag: "\"a\"", comparesSeam: false)
        question.known?.redirectedTo = link("http://h.example/v1/f.iso")
        let head = ResponseHead(
            status: 206,
            headers: HeaderFields([Self.range, Self.tag]),
            url: link(url),
            requested: link("http://h.example/f.iso")
        )
        let answer = SegmentResponse.judge(head, to: question, isMirror: false)
        #expect(answer == (isTaken ? .accept(Validator(head)) : .noUsableRange))
        question.terms.hasDigest = true
        #expect(SegmentResponse.judge(head, to: question, isMirror: false) == .accept(Validator(head)))
    }
}
