import Foundation
import NIOHTTP1
import Testing

@testable import HaulKit

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

    @Test func refusesADamagedTagFromTheStore() {
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(Validator.self, from: Data(#"{"entityTag":"x","lastModifiedIsStrong":true}"#.utf8))
        }
    }

    @Test func believesNeitherOfTwoNamesThatDiffer() {
        var head = ResponseHead.answer(206, ["ETag": "\"s\"", "Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"])
        head.headers.add(name: "ETag", value: "\"t\"")
        head.headers.add(name: "Last-Modified", value: "Sun, 06 Nov 1994 08:49:38 GMT")
        #expect(Validator(head).isEmpty)
    }

    @Test func takesANameThatIsRepeated() {
        var head = ResponseHead.answer(206, ["ETag": "\"s\""])
        head.headers.add(name: "ETag", value: "\"s\"")
        #expect(Validator(head).entityTag == EntityTag("\"s\""))
    }
}
