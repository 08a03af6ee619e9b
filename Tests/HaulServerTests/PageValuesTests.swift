import Foundation
import HaulKit
import NIOCore
import NIOFoundationCompat
import Testing

@testable import HaulServer

/// Tests that the page's scripts, the description of the API and the daemon have the same lists of values.
@Suite struct PageValuesTests {
    private struct Description: Decodable {
        struct Schema: Decodable {
            var `enum`: [String]?
            var properties: [String: JSONValue]?
            var required: [String]?
        }

        struct Components: Decodable { var schemas: [String: Schema] }

        var components: Components
    }

    private func asset(_ name: String) throws -> ByteBuffer { try #require(PageAssets().assets[name]).body }

    /// Returns the list of strings that a script of the page assigns to a constant.
    private func list(_ constant: String, in script: String) throws -> [String] {
        let text = String(buffer: try asset("app/" + script))
        let start = try #require(text.range(of: "const \(constant) = [")).upperBound
        let end = try #require(text[start...].firstIndex(of: "]"))
        return try JSONDecoder().decode([String].self, from: Data("[\(text[start..<end])]".utf8))
    }

    private func schema(_ name: String) throws -> Description.Schema {
        let description = try JSONDecoder().decode(Description.self, from: Data(buffer: try asset("openapi.json")))
        return try #require(description.components.schemas[name])
    }

    @Test func thePageKnowsTheActiveStates() throws {
        #expect(Set(try list("ACTIVE", in: "lists.js")) == Set(DownloadSnapshot.State.active.map(\.rawValue)))
    }

    @Test func everyOptionalFieldOfARowIsKnown() throws {
        let snapshot = DownloadSnapshot(url: try #require(URL(string: "http://h/f")))
        let fields = Mirror(reflecting: DownloadRow(snapshot)).children
        let optional = Set(fields.filter { Mirror(reflecting: $0.value).displayStyle == .optional }.compactMap(\.label))
        let row = try schema("Row")
        let described = Set(try #require(row.properties).keys)
        #expect(Set(DownloadRow.optional) == optional)
        #expect(Set(try list("OPTIONAL", in: "patch.js")) == optional)
        #expect(described == Set(fields.compactMap(\.label)))
        #expect(described.subtracting(try #require(row.required)) == optional)
    }

    /// Returns a row with every field.
    private func fullRow() throws -> DownloadRow {
        DownloadRow(
            DownloadSnapshot(
                url: try #require(URL(string: "http://h/f")),
                state: .transferring,
                holdReason: .diskFull,
                path: "/folder/f",
                receivedBytes: 1,
                totalBytes: 9,
                bytesPerSecond: 2,
                error: DownloadError(code: .refusedByServer, message: "m", cause: "c", status: 503),
                retryDelay: .seconds(5),
                group: "g",
                startedAt: Date(),
                endedAt: Date(),
                proof: .digest,
                gaps: ["a gap"],
                stream: DownloadSnapshot.Stream(segments: 2, receivedSegments: 1, seconds: 9, receivedSeconds: 4)
            )
        )
    }

    /// Encodes a value, and checks that it has every field.
    private func encoded(_ value: some Encodable) throws -> [String: JSONValue] {
        let fields = try JSONDecoder().decode([String: JSONValue].self, from: JSONEncoder().encode(value))
        #expect(Set(fields.keys) == Set(Mirror(reflecting: value).children.compactMap(\.label)))
        return fields
    }

    @Test func theFieldsOfARowAreThoseOfItsEncoding() throws {
        let row = try fullRow()
        #expect(try encoded(row) == row.fields)
    }

    /// One object of the API has the fields of both.
    @Test func theDetailsHaveNoFieldOfTheRow() throws {
        let request = DownloadRequest(try #require(URL(string: "http://h/f")), to: .folder(path: "/folder"))
        let snapshot = DownloadSnapshot(url: request.url)
        var details = DownloadDetails(snapshot, request, log: [], rev: "1")
        details.finalURL = "http://h/g"
        details.checksum = "md5:0"
        details.speedLimit = 1
        details.page = "http://h/page"
        let (fields, ofRow) = (try encoded(details), try encoded(fullRow()))
        #expect(Set(fields.keys).isDisjoint(with: ofRow.keys))
    }

    /// Each code of a log's line has a case in the script that writes the lines in the page's language.
    @Test func thePageKnowsTheCodesOfTheLog() throws {
        let script = String(buffer: try asset("app/log.js"))
        for code in DownloadLogs.Code.allCases { #expect(script.contains("case \"\(code.rawValue)\":")) }
    }

    @Test func thePageKnowsTheCodesOfNotices() throws {
        let script = String(buffer: try asset("app/sets.js"))
        for code in SetNotice.Code.allCases { #expect(script.contains("case \"\(code.rawValue)\":")) }
        #expect(
            try schema("Notice").properties?["code"]
                == .object(["type": "string", "enum": .array(SetNotice.Code.allCases.map { .string($0.rawValue) })])
        )
    }

    /// The row of a set and its description have the same fields.
    @Test func theFieldsOfASetAreDescribed() throws {
        let row = SetRow(id: DownloadID(), name: "n", source: "s", folder: "/f", group: "g")
        let fields = Mirror(reflecting: row).children
        let optional = Set(fields.filter { Mirror(reflecting: $0.value).displayStyle == .optional }.compactMap(\.label))
        let set = try schema("Set")
        let described = Set(try #require(set.properties).keys)
        #expect(described == Set(fields.compactMap(\.label)))
        #expect(described.subtracting(try #require(set.required)) == optional)
    }

    @Test func everySettingHasATextOfThePage() throws {
        let texts = String(buffer: try asset("app/text.en.js"))
        for setting in DaemonSetting.all { #expect(texts.contains("\"set.\(setting.name).hint\"")) }
    }

    @Test func everyStateIsDescribed() throws {
        #expect(try schema("State").enum == DownloadSnapshot.State.allCases.map(\.rawValue))
    }
}
