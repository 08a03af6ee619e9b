internal import Foundation
internal import HTTPTypes
internal import HaulKit
internal import Hummingbird
internal import Logging

/// Routes that read settings and change them while downloads run. No such setting names a program: the programs that
/// events start are set at the start of the server, never over HTTP.
struct ConfigurationRoutes {
    let services: Services
    /// Serializes changes, so that no other change comes between the check of `If-Match` and the change.
    private let turns = Turns()

    init(services: Services) { self.services = services }

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
            var kept: [@Sendable (inout ChangedSettings) -> Void] = []
            var names: [String] = []
            for (name, value) in body.rest().sorted(by: { $0.key < $1.key }) {
                guard let setting = DaemonSetting.live(name) else {
                    throw Problem(
                        .unprocessableContent,
                        "unknownField",
                        "There is no setting named \(name.prefix(60)) that can be changed."
                    )
                }
                switch try setting.change(to: value, services.live) {
                case .downloader(let change): changes.append(change)
                case .kept(let change): kept.append(change)
                }
                names.append(name)
            }
            let (ours, others, wanted) = (kept, changes, request.headers[.ifMatch])
            return try await turns.take {
                if let wanted {
                    let tag = EntityTag.of(JSONBody.buffer(await answer(), isSorted: true))
                    try EntityTag.check(tag, isNamedBy: wanted)
                }
                return JSONBody.tagged(try await change(ours, others, names))
            }
        }
    }

    /// Applies changes that have been checked.
    private func change(
        _ kept: [@Sendable (inout ChangedSettings) -> Void],
        _ others: [@Sendable (inout Downloader.Configuration) -> Void],
        _ names: [String]
    ) async throws -> Answer {
        var all = others
        if !kept.isEmpty {
            try await services.settings.change { changed in for change in kept { change(&changed) } }
            all.append(try await problems { () throws(DownloadError) in try services.live.networkChange() })
        }
        let changes = all
        do {
            try await problems { () throws(DownloadError) in
                _ = try await services.downloader.update { configuration in
                    for change in changes { change(&configuration) }
                }
            }
        } catch {
            // The changes may apply although the store could not record them.
            await services.feed.markStale()
            throw error
        }
        // Logs no values, because a proxy may have a password.
        if !kept.isEmpty { services.logger.info("Settings were changed: \(names.joined(separator: ", ")).") }
        await services.feed.markStale()
        return await answer()
    }

    private func answer() async -> Answer {
        let configuration = await services.downloader.configuration
        var settings: [String: Entry] = [:]
        for setting in DaemonSetting.all {
            settings[setting.name] = Entry(
                value: setting.value(configuration, services.live),
                live: setting.isLive,
                minimum: setting.range?.lowerBound,
                maximum: setting.range?.upperBound,
                description: setting.description
            )
        }
        return Answer(settings: settings)
    }
}
