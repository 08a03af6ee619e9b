internal import Foundation
internal import HTTPTypes
internal import HaulKit
internal import Hummingbird

/// Routes that read settings and change them while downloads run. No setting names a program: programs started at
/// events are configured where the server is started, never over HTTP.
struct ConfigurationRoutes {
    let services: Services

    private struct Answer: Encodable {
        var settings: [String: Entry]
    }
    private struct Entry: Encodable {
        var value: JSONValue
        var live: Bool
        var minimum: Int?
        var maximum: Int?
        var description: String
    }

    func add(to routes: RouteTable) {
        routes.get("/api/v1/configuration") { request, _ in JSONBody.response(await answer(), to: request) }
        routes.patch("/api/v1/configuration") { request, _ in
            var body = try await JSONBody(request, limit: 64 << 10)
            var changes: [@Sendable (inout Downloader.Configuration) -> Void] = []
            for (name, value) in body.rest().sorted(by: { $0.key < $1.key }) {
                guard let setting = DaemonSetting.live(name) else {
                    throw Problem(
                        .unprocessableContent,
                        "unknownField",
                        "There is no setting named \(name.prefix(60)) that can be changed."
                    )
                }
                changes.append(try setting.change(to: value))
            }
            let all = changes
            try await problems { () throws(DownloadError) in
                _ = try await services.downloader.update { configuration in
                    for change in all { change(&configuration) }
                }
            }
            await services.feed.markStale()
            return JSONBody.response(await answer())
        }
    }

    private func answer() async -> Answer {
        let configuration = await services.downloader.configuration
        var settings: [String: Entry] = [:]
        for setting in DaemonSetting.all {
            settings[setting.name] = Entry(
                value: setting.value(configuration, services.folders),
                live: setting.isLive,
                minimum: setting.range?.lowerBound,
                maximum: setting.range?.upperBound,
                description: setting.description
            )
        }
        return Answer(settings: settings)
    }
}
