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

    func add(to router: Router<ServerContext>) {
        router.get("/api/v1/configuration") { _, _ in JSONBody.response(await answer()) }
        router.patch("/api/v1/configuration") { request, _ in
            var body = try await JSONBody(request, limit: 64 << 10)
            var changes: [@Sendable (inout Downloader.Configuration) -> Void] = []
            for (name, value) in body.rest().sorted(by: { $0.key < $1.key }) {
                guard let setting = LiveSetting(rawValue: name) else {
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
        for setting in LiveSetting.allCases {
            settings[setting.rawValue] = Entry(
                value: setting.value(configuration),
                live: true,
                minimum: setting.range?.lowerBound,
                maximum: setting.range?.upperBound,
                description: setting.description
            )
        }
        settings["folder"] = Entry(
            value: .string(services.folders.fallback),
            live: false,
            description: "Folder for downloads that name none. Set it where haul serve is started: --directory."
        )
        settings["roots"] = Entry(
            value: .array(services.folders.roots.map { .string($0) }),
            live: false,
            description: "Folders that downloads may be saved in. Set them where haul serve is started: --root."
        )
        settings["deniedAddresses"] = Entry(
            value: .array(configuration.network.deniedAddresses.map { .string($0.description) }),
            live: false,
            description:
                "Addresses that downloads may not connect to. Set them where haul serve is started: --deny-address."
        )
        return Answer(settings: settings)
    }
}

/// A setting that may change while downloads run.
private enum LiveSetting: String, CaseIterable {
    case maxConcurrentDownloads, connectionsPerDownload, connectionsPerHost, speedLimit, allowsMetered, timetable

    var description: String {
        switch self {
        case .maxConcurrentDownloads: "Number of downloads that run at once."
        case .connectionsPerDownload: "Most connections that one download opens."
        case .connectionsPerHost: "Most connections to one host, over all downloads."
        case .speedLimit: "Bytes per second over all downloads; 0 for no limit."
        case .allowsMetered: "Whether downloads run while the network is metered."
        case .timetable:
            """
            Hours in which downloads run, such as "08:00,512k 18:00,unlimited" (bytes per second from then on, or off); \
            empty for always.
            """
        }
    }

    var range: ClosedRange<Int>? {
        switch self {
        case .maxConcurrentDownloads: 1...1000
        case .connectionsPerDownload: 1...64
        case .connectionsPerHost: 1...256
        case .speedLimit: 0...1_000_000_000_000
        case .allowsMetered, .timetable: nil
        }
    }

    func value(_ configuration: Downloader.Configuration) -> JSONValue {
        switch self {
        case .maxConcurrentDownloads: .integer(Int64(configuration.queue.maxConcurrentDownloads))
        case .connectionsPerDownload: .integer(Int64(configuration.connections.maxPerDownload))
        case .connectionsPerHost: .integer(Int64(configuration.connections.maxPerHost))
        case .speedLimit: .integer(configuration.network.bytesPerSecond ?? 0)
        case .allowsMetered: .bool(configuration.network.allowsMetered)
        case .timetable: .string(configuration.queue.timetable?.description ?? "")
        }
    }

    func change(to value: JSONValue) throws(Problem) -> @Sendable (inout Downloader.Configuration) -> Void {
        switch (self, value) {
        case (.allowsMetered, .bool(let allows)):
            return { $0.network.allowsMetered = allows }
        case (.timetable, .string(let text)):
            let timetable: Timetable?
            do throws(TimetableError) { timetable = text.isEmpty ? nil : try Timetable(text) } catch {
                throw Problem(.unprocessableContent, "invalidField", "timetable: \(error.message)")
            }
            return { $0.queue.timetable = timetable }
        case (_, .integer(let number)):
            guard let range, let count = Int(exactly: number), range.contains(count) else { throw wrong }
            switch self {
            case .maxConcurrentDownloads: return { $0.queue.maxConcurrentDownloads = count }
            case .connectionsPerDownload: return { $0.connections.maxPerDownload = count }
            case .connectionsPerHost: return { $0.connections.maxPerHost = count }
            case .speedLimit: return { $0.network.bytesPerSecond = number == 0 ? nil : number }
            case .allowsMetered, .timetable: throw wrong
            }
        default: throw wrong
        }
    }

    private var wrong: Problem {
        let bounds = range.map { " from \($0.lowerBound) to \($0.upperBound)" } ?? ""
        return Problem(
            .unprocessableContent,
            "invalidField",
            "\(rawValue) has a wrong type or value\(bounds.isEmpty ? "" : "; it is a number\(bounds)")."
        )
    }
}
