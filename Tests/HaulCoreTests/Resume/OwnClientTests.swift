import Foundation
import Testing

@testable import HaulCore

/// The calls for an application that has an HTTP client of its own.
struct OwnClientTests {
    private static let url = link("https://files.example/a.iso")

    private func judge(
        _ status: Int,
        _ fields: KeyValuePairs<String, String>,
        from url: URL = Self.url,
        to request: RangeRequest
    ) -> RangeResponse {
        RangeResponse.judge(
            status: status,
            fields: fields.map { (name: $0.key, value: $0.value) },
            url: url,
            requested: Self.url,
            to: request
        )
    }

    private func fields(_ request: RangeRequest) -> [String] {
        request.headerFields.map { "\($0.name): \($0.value)" }
    }

    private func known(_ fields: KeyValuePairs<String, String>) throws -> Resource {
        guard case .accept(let resource, at: 0, compare: 0) = judge(200, fields, to: .whole) else {
            throw CancellationError()
        }
        return resource
    }

    @Test func asksForTheWholeWithoutARange() throws {
        #expect(fields(.whole) == ["Accept-Encoding: identity"])
        let unnamed = try known(["Content-Length": "100000"])
        #expect(RangeRequest.resuming(unnamed, at: 40_000) == .whole)
        let named = try known(["Content-Length": "100000", "ETag": "\"a\""])
        #expect(RangeRequest.resuming(named, at: 0) == .whole)
    }

    @Test func asksForTheRestByTheLadder() throws {
        let strong = try known(["Content-Length": "100000", "ETag": "\"a\""])
        let conditional = ["Accept-Encoding: identity", "Range: bytes=40000-", "If-Range: \"a\""]
        #expect(fields(.resuming(strong, at: 40_000)) == conditional)
        #expect(fields(.resuming(strong, at: 40_000, isPlain: true)) == Array(conditional.prefix(2)))
        let weak = try known(["Content-Length": "100000", "ETag": "W/\"a\""])
        #expect(fields(.resuming(weak, at: 40_000)) == ["Accept-Encoding: identity", "Range: bytes=23616-"])
    }

    @Test func judgesAsTheMachineDoes() throws {
        let known = try known(["Content-Length": "100000", "ETag": "\"a\""])
        let request = RangeRequest.resuming(known, at: 40_000)
        let range = "bytes 40000-99999/100000"
        #expect(
            judge(206, ["Content-Range": range, "Content-Length": "60000", "ETag": "\"a\""], to: request)
                == .accept(known, at: 40_000, compare: 0)
        )
        #expect(judge(206, ["Content-Range": range, "ETag": "\"b\""], to: request) == .startOver(.changed))
        #expect(judge(206, ["Content-Range": range], to: request) == .askWithoutCondition)
        #expect(judge(404, [:], to: request) == .refuse(.status(404)))
        let elsewhere = link("https://mirror.example/b.iso")
        let answer: KeyValuePairs = ["Content-Range": range, "ETag": "\"a\""]
        #expect(judge(206, answer, from: elsewhere, to: request) == .askWithoutCondition, "another resource")
        #expect(judge(206, answer, from: elsewhere, to: .resuming(known, at: 40_000, isPlain: true)) == .compareFirst)
    }

    @Test func keepsTheVersionAsJSON() throws {
        let known = try known(["Content-Length": "100000", "ETag": "\"a\""])
        #expect(known.total == 100_000)
        #expect(try JSONDecoder().decode(Resource.self, from: JSONEncoder().encode(known)) == known)
    }
}
