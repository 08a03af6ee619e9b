import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import Testing

@testable import HaulServer

/// Tests that the monitoring page and the dashboard name metrics that exist. A missing one would show nothing and never
/// raise an alert.
@Suite struct MonitoringDocumentTests {
    private static func text(_ path: String) throws -> String {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../..")
        return try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }

    /// Returns the names of metrics in a text. The sum and the count of a summary count as the summary.
    private static func names(in text: String) -> Set<String> {
        let names = text.matches(of: /haul_[a-z_]+/).map { String($0.output) }
        return Set(names.map { $0.replacing(/_(?:sum|count)$/, with: "") })
    }

    @Test func everyNamedMetricExists() async throws {
        try await ServerRig.run { rig, client in
            let answer = try await client.call(.get, "/metrics", rig)
            let served = String(buffer: answer.body).matches(of: /TYPE (haul_[a-z_]+)/).map { String($0.output.1) }
            let page = Self.names(in: try Self.text("docs/monitoring.md"))
            #expect(page == Set(served))
            let dashboard = Self.names(in: try Self.text("Packaging/grafana-dashboard.json"))
            #expect(dashboard.count > 5 && dashboard.isSubset(of: served))
        }
    }

    @Test func theDashboardIsJSONWithAnExpressionInEachPanel() throws {
        let dashboard = try JSONDecoder().decode(
            JSONValue.self,
            from: Data(try Self.text("Packaging/grafana-dashboard.json").utf8)
        )
        let count = try #require(dashboard["panels"]?.count)
        for index in 0..<count {
            let panel = try #require(dashboard["panels"]?[index])
            #expect(panel["targets"]?[0]?["expr"]?.text?.contains("haul_") == true, "\(panel["title"]?.text ?? "")")
        }
        #expect(count > 5)
    }
}
