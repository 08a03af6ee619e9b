import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import NIOFoundationCompat
import Testing

@testable import HaulServer

/// Tests that the table of settings, the OpenAPI description, the page and the route name the same settings.
@Suite struct DaemonSettingTests {
    private let live = DaemonSetting.all.filter(\.isLive)

    private func asset(_ path: String) throws -> Data {
        Data(buffer: try #require(PageAssets().assets[path]).body)
    }

    private func text(_ path: String) throws -> String { String(decoding: try asset(path), as: UTF8.self) }

    @Test func theDescriptionHasTheSettingsThatMayChange() throws {
        let document = try JSONDecoder().decode(JSONValue.self, from: try asset("openapi.json"))
        let schema = document["components"]?["schemas"]?["Settings"]?["properties"]
        guard case .object(let properties) = try #require(schema) else {
            Issue.record("The schema has no properties.")
            return
        }
        #expect(Set(properties.keys) == Set(live.map(\.name)))
        for setting in live {
            let property = properties[setting.name]
            #expect(property?["minimum"]?.number == setting.range.map { Int64($0.lowerBound) }, "\(setting.name)")
            #expect(property?["maximum"]?.number == setting.range.map { Int64($0.upperBound) }, "\(setting.name)")
            let type =
                switch setting.kind {
                case .count, .rate: "integer"
                case .flag: "boolean"
                case .timetable: "string"
                case .kept(let type, _, _): type
                case .fixed: ""
                }
            #expect(
                property?["type"] == .string(type) || property?["type"] == .array([.string(type), "null"]),
                "\(setting.name)"
            )
        }
    }

    @Test func thePageHasAPlaceForEachSettingThatMayChange() throws {
        let page = try text("app/settings.js")
        let order = try #require(page.firstMatch(of: /const ORDER = \[([^\]]*)\]/)).1
        let names = order.matches(of: /"(\w+)"/).map { String($0.1) }
        #expect(names == live.map(\.name))
    }

    @Test func eachLanguageOfThePageHasATextForEachSettingThatMayChange() throws {
        let known = Set(DaemonSetting.all.map(\.name))
        let tables = PageAssets().paths.filter { $0.wholeMatch(of: /app\/text\.\w+\.js/) != nil }
        #expect(tables.count > 1)
        for table in tables {
            let keys = try text(table).matches(of: /"set\.(\w+)(\.hint)?":/)
            let labels = Set(keys.filter { $0.2 == nil }.map { String($0.1) })
            let hints = Set(keys.filter { $0.2 != nil }.map { String($0.1) })
            // A setting that only the start of the daemon sets is shown with its hint alone.
            #expect(labels.isSubset(of: hints) && hints.isSubset(of: known), "\(table)")
            #expect(labels.isSuperset(of: live.map(\.name)), "\(table)")
        }
    }

    @Test func theRouteHasEverySetting() async throws {
        try await ServerRig.run { rig, client in
            let answer = try await client.call(.get, "/api/v1/configuration", rig).json
            guard case .object(let settings) = try #require(answer["settings"]) else {
                Issue.record("The answer has no settings.")
                return
            }
            #expect(Set(settings.keys) == Set(DaemonSetting.all.map(\.name)))
            for setting in DaemonSetting.all {
                #expect(settings[setting.name]?["live"] == .bool(setting.isLive), "\(setting.name)")
                #expect(settings[setting.name]?["description"]?.text == setting.description)
            }
        }
    }
}
