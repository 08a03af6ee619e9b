import Foundation
import Testing

@testable import HaulCore

struct ValidatorTests {
    private static func validator(_ tag: String?, _ date: String? = nil) -> Validator {
        Validator(entityTag: tag.flatMap { EntityTag($0) }, lastModified: date)
    }

    @Test(arguments: [
        (validator("\"a\""), validator("\"a\""), Validator.Comparison.same),
        (validator("\"a\"", "x"), validator("\"a\"", "y"), .same), (validator("\"a\""), validator("\"b\""), .different),
        (validator("\"a\""), validator("\"A\""), .different), (validator("W/\"a\""), validator("W/\"a\""), .maybe),
        (validator("W/\"a\""), validator("\"a\""), .maybe), (validator("\"a\""), validator("W/\"a\""), .maybe),
        (validator("W/\"a\""), validator("W/\"b\""), .different),
        (validator("\"a\""), validator("W/\"b\""), .different),
        (validator("\"a\"", "x"), validator("\"b\"", "x"), .different), (validator("\"a\""), validator(nil), .maybe),
        (validator(nil), validator("\"a\""), .maybe), (validator(nil, "x"), validator(nil, "x"), .maybe),
        (validator(nil, "x"), validator(nil, "y"), .different),
        (validator("\"a\"", "x"), validator(nil, "y"), .different),
        (validator("W/\"a\"", "x"), validator("W/\"a\"", "y"), .different), (validator(nil), validator(nil), .maybe),
        (validator("\"e\u{301}\""), validator("\"é\""), .different),
        // Malformed tags: equal texts prove nothing, different texts mean different versions.
        (validator("abc1", "x"), validator("abc1", "x"), .maybe),
        (validator("abc1", "x"), validator("abc2", "x"), .different),
        (validator("abc1", "x"), validator(nil, "x"), .maybe), (validator("w/\"1\""), validator("W/\"1\""), .different),
        (validator("\"v 1\""), validator("\"v 2\""), .different),
        (validator("\"a\", \"b\""), validator("\"a\""), .different),
    ])
    func provesOnlyWhatTheServerPromised(_ one: Validator, _ later: Validator, _ comparison: Validator.Comparison) {
        #expect(one.compare(later) == comparison)
    }

    @Test(arguments: [
        ("Sun, 06 Nov 1994 08:49:38 GMT", true), ("Sun, 06 Nov 1994 08:49:37 GMT", false),
        ("Sun, 06 Nov 1994 08:49:36 GMT", false), ("soon", false), ("Sunday, 06-Nov-94 08:50:37 GMT", true),
    ])
    func takesADateForStrongOnlyASecondLater(_ answered: String, _ isStrong: Bool) {
        let head = ResponseHead.answer(200, ["Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT", "Date": answered])
        #expect(Validator(head).lastModifiedIsStrong == isStrong)
        #expect(Validator(head).lastModified == "Sun, 06 Nov 1994 08:49:37 GMT")
    }

    @Test func hasNoStrongDateWithoutTheServersClock() {
        let head = ResponseHead.answer(200, ["Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"])
        #expect(!Validator(head).lastModifiedIsStrong && !Validator(head).isEmpty)
    }

    @Test func offersOnlyStrongTagsAsStrong() {
        #expect(Self.validator("W/\"a\"").strongTag == nil && Self.validator("\"a\"").strongTag?.text == "\"a\"")
    }

    @Test func survivesTheStoreUnchanged() throws {
        var resource = Resource(total: 5, validator: Self.validator("W/\"é\"", "x"))
        resource.digest = ShadowServer.digest(of: 7)
        resource.hasUsableRanges = false
        let again = try JSONDecoder().decode(Resource.self, from: JSONEncoder().encode(resource))
        #expect(again == resource)
    }

    @Test func isNotStrongByATagThatWasDamagedInTheStore() throws {
        let stored = Data(#"{"entityTag":"x","lastModified":"y","lastModifiedIsStrong":true}"#.utf8)
        #expect(try JSONDecoder().decode(Validator.self, from: stored).isStrong == false)
    }

    /// The date has a resolution of one second. The tag, although malformed, may change within that second.
    @Test(arguments: ["abc1", "w/\"1\"", "\"v 1\"", "'v1'", "\"a\", \"b\"", "", "\"\u{FFFD}\""])
    func takesNoDateForStrongBesideAMalformedTag(_ tag: String) {
        var head = ResponseHead.answer(
            200,
            ["Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT", "Date": "Sun, 06 Nov 2004 08:49:37 GMT"]
        )
        let plain = Validator(head)
        head.headers.add(name: "ETag", value: tag)
        let named = Validator(head)
        #expect(plain.isStrong && !named.isStrong && !named.isProven(by: named))
        // The tag appears or disappears with a later answer.
        #expect(!plain.isProven(by: named) && !named.isProven(by: plain))
        #expect(
            RangeRequest.resuming(Resource(total: 9, validator: named), at: 5, resumesUnverified: false).condition
                == .none
        )
    }

    /// Reproducible builds and container images give every version the same date.
    @Test(arguments: [
        "Thu, 01 Jan 1970 00:00:00 GMT", "Thu, 01 Jan 1970 00:00:01 GMT", "Tue, 01 Jan 1980 00:00:00 GMT",
    ])
    func takesNoDateBeforeTheWebForStrong(_ date: String) {
        let head = ResponseHead.answer(200, ["Last-Modified": date, "Date": "Sun, 06 Nov 2004 08:49:37 GMT"])
        #expect(!Validator(head).isStrong && Validator(head).lastModified == date)
    }

    @Test func takesNoDateForStrongBesideTwoClocks() {
        var head = ResponseHead.answer(
            200,
            ["Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT", "Date": "Sun, 06 Nov 2004 08:49:37 GMT"]
        )
        #expect(Validator(head).isStrong)
        head.headers.add(name: "Date", value: "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(!Validator(head).isStrong)
    }

    @Test func believesNeitherOfTwoNamesThatDiffer() {
        var head = ResponseHead.answer(206, ["ETag": "\"s\"", "Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"])
        head.headers.add(name: "ETag", value: "\"t\"")
        head.headers.add(name: "Last-Modified", value: "Sun, 06 Nov 1994 08:49:38 GMT")
        #expect(Validator(head).lastModified == nil && !Validator(head).isStrong)
        #expect(Validator(head).entityTag?.isWellFormed == false)
    }

    @Test func takesANameThatIsRepeated() {
        var head = ResponseHead.answer(206, ["ETag": "\"s\""])
        head.headers.add(name: "ETag", value: "\"s\"")
        #expect(Validator(head).entityTag == EntityTag("\"s\""))
    }
}
