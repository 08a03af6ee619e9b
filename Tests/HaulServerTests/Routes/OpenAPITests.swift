import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import NIOFoundationCompat
import Testing

@testable import HaulServer

/// Tests that the OpenAPI description and the routes agree.
@Suite struct OpenAPITests {
    private func paths() throws -> [(path: String, methods: [String])] {
        let asset = try #require(PageAssets().assets["openapi.json"])
        let document = try JSONDecoder().decode(JSONValue.self, from: Data(buffer: asset.body))
        guard case .object(let paths) = try #require(document["paths"]) else { return [] }
        return paths.map { path, item in
            guard case .object(let methods) = item else { return (path, []) }
            return (path, methods.keys.filter { $0 != "parameters" })
        }
    }

    @Test func everyDescribedRouteExists() async throws {
        let described = try paths()
        #expect(described.count > 15)
        try await ServerRig.run { rig, client in
            for (path, methods) in described where path != "/api/v1/events" {
                let concrete = path.replacing("{id}", with: "01a20487-d608-77ce-8cf2-0ed7401a7d0e")
                for name in methods {
                    let method = try #require(HTTPRequest.Method(name.uppercased()))
                    let answer = try await client.call(method, concrete, rig)
                    let isUnknown = try? answer.json["detail"]?.text == Problem.notFound.detail
                    #expect(
                        isUnknown != true && answer.status != .methodNotAllowed,
                        "\(method) \(path): \(answer.status)"
                    )
                }
            }
        }
    }

    /// Generators of clients name their functions by these ids.
    @Test func everyOperationHasAnIDOfItsOwn() throws {
        let asset = try #require(PageAssets().assets["openapi.json"])
        let document = try JSONDecoder().decode(JSONValue.self, from: Data(buffer: asset.body))
        var ids: [String] = []
        for (path, methods) in try paths() {
            for method in methods {
                let id = document["paths"]?[path]?[method]?["operationId"]?.text
                ids.append(try #require(id, "\(method) \(path)"))
            }
        }
        #expect(ids.count > 30 && Set(ids).count == ids.count)
        #expect(ids.allSatisfy { $0.wholeMatch(of: /[a-z][A-Za-z]+/) != nil })
    }

    /// Only the page and its files are routes without a description.
    @Test func everyRouteIsDescribed() throws {
        let described = Set(try paths().map(\.path))
        let pages = PageAssets().openPaths
        for path in RouteList.paths where !pages.contains(path) {
            #expect(described.contains(path), "\(path)")
        }
        #expect(Set(RouteList.paths).isSuperset(of: described))
    }

    /// Paths of the routes, read from the source files because the router does not list them.
    private enum RouteList {
        static let paths: [String] = {
            let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
                .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Sources/HaulServer")
            var found: Set<String> = []
            let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
            while let file = files?.nextObject() as? URL {
                guard file.pathExtension == "swift", let text = try? String(contentsOf: file, encoding: .utf8) else {
                    continue
                }
                for match in text.matches(of: /"(\/(?:api\/v1\/[a-z.:\/]+|livez|readyz|health|metrics))"/) {
                    found.insert(String(match.1).replacing(":id", with: "{id}"))
                }
            }
            for action in ["pause", "resume", "retry", "start", "cancel", "again"] {
                found.insert("/api/v1/downloads/{id}/\(action)")
            }
            return found.filter { !$0.hasSuffix("/") }
        }()
    }
}
