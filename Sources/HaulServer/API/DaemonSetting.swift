internal import HTTPTypes
internal import HaulKit

/// A setting that `/api/v1/configuration` reports, and that the page and `haul config` show.
struct DaemonSetting: Sendable {
    typealias Configuration = Downloader.Configuration

    /// The type of the value, and the property that it applies to.
    enum Kind: Sendable {
        case count(ClosedRange<Int>, any WritableKeyPath<Configuration, Int> & Sendable)
        /// A number of bytes per second; 0 for no limit.
        case rate(ClosedRange<Int>, any WritableKeyPath<Configuration, Int64?> & Sendable)
        case flag(any WritableKeyPath<Configuration, Bool> & Sendable)
        /// A timetable as text; empty for none.
        case timetable(any WritableKeyPath<Configuration, Timetable?> & Sendable)
        /// A value of ``ChangedSettings``. `null` and an empty text restore the value with which the daemon was
        /// started.
        case kept(type: String, value: @Sendable (LiveConfiguration) -> JSONValue, change: KeptChange)
        /// A value of any type that only a restart of the daemon can change.
        case fixed(@Sendable (Configuration, AllowedFolders) -> JSONValue)
    }

    /// Checks a new value, and returns a closure that applies it. A `nil` value restores the value with which the
    /// daemon was started.
    ///
    /// - Throws: ``Problem`` for a value that cannot be used.
    typealias KeptChange = @Sendable (JSONValue?, LiveConfiguration) throws -> @Sendable (inout ChangedSettings) -> Void

    /// A change of the downloader's configuration, or of the settings that the server keeps.
    enum Change: Sendable {
        case downloader(@Sendable (inout Configuration) -> Void)
        case kept(@Sendable (inout ChangedSettings) -> Void)
    }

    let name: String
    let kind: Kind
    let description: String

    init(_ name: String, _ kind: Kind, _ description: String) {
        (self.name, self.kind, self.description) = (name, kind, description)
    }

    static let all: [DaemonSetting] = [
        .init(
            "maxConcurrentDownloads",
            .count(1...1000, \.queue.maxConcurrentDownloads),
            "Number of downloads that run at once."
        ),
        .init(
            "connectionsPerDownload",
            .count(1...64, \.connections.maxPerDownload),
            "Most connections that one download opens."
        ),
        .init(
            "connectionsPerHost",
            .count(1...256, \.connections.maxPerHost),
            "Most connections to one host, over all downloads."
        ),
        .init(
            "speedLimit",
            .rate(0...1_000_000_000_000, \.network.bytesPerSecond),
            "Bytes per second over all downloads; 0 for no limit."
        ),
        .init(
            "allowsMetered",
            .flag(\.network.allowsMetered),
            "Whether downloads run while the network is metered."
        ),
        .init(
            "timetable",
            .timetable(\.queue.timetable),
            """
            Hours in which downloads run, such as "08:00,512k 18:00,unlimited" (bytes per second from then on, or off); \
            empty for always.
            """
        ),
        folder, userAgent, proxy, rules, groups,
        .init(
            "roots",
            .fixed { _, folders in .array(folders.roots.map { .string($0) }) },
            "Folders that downloads may be saved in. Set them where haul serve is started: --root."
        ),
        .init(
            "deniedAddresses",
            .fixed { configuration, _ in .array(configuration.network.deniedAddresses.map { .string($0.description) })
            },
            "Addresses that downloads may not connect to. Set them where haul serve is started: --deny-address."
        ),
        .init(
            "hooks",
            .fixed { configuration, _ in .array(configuration.hooks.actions.map { .string($0.description) }) },
            """
            Programs and webhooks of events. They are set where haul serve is started, as with --on-complete, and \
            never over the API: whoever has the token of a page must not be able to start programs.
            """
        ),
    ]

    /// Returns the setting with this name, if it may change while the daemon runs.
    static func live(_ name: String) -> DaemonSetting? { all.first { $0.name == name && $0.isLive } }

    /// Whether the setting may change while the daemon runs.
    var isLive: Bool {
        if case .fixed = kind { false } else { true }
    }

    /// The numbers that the setting accepts; `nil` if its value is no number.
    var range: ClosedRange<Int>? {
        switch kind {
        case .count(let range, _), .rate(let range, _): range
        case .flag, .timetable, .kept, .fixed: nil
        }
    }

    func value(_ configuration: Configuration, _ live: LiveConfiguration) -> JSONValue {
        switch kind {
        case .count(_, let path): .integer(Int64(configuration[keyPath: path]))
        case .rate(_, let path): .integer(configuration[keyPath: path] ?? 0)
        case .flag(let path): .bool(configuration[keyPath: path])
        case .timetable(let path): .string(configuration[keyPath: path]?.description ?? "")
        case .kept(_, let value, _): value(live)
        case .fixed(let value): value(configuration, live.folders)
        }
    }

    /// Returns the change that sets the setting to `value`.
    ///
    /// - Throws: ``Problem`` if the setting is fixed, or if it does not accept the value.
    func change(to value: JSONValue, _ live: LiveConfiguration) throws -> Change {
        switch (kind, value) {
        case (.count(let range, let path), .integer(let number)):
            guard let count = Int(exactly: number), range.contains(count) else { throw wrong }
            return .downloader { $0[keyPath: path] = count }
        case (.rate(let range, let path), .integer(let number)):
            guard let count = Int(exactly: number), range.contains(count) else { throw wrong }
            return .downloader { $0[keyPath: path] = number == 0 ? nil : number }
        case (.flag(let path), .bool(let flag)):
            return .downloader { $0[keyPath: path] = flag }
        case (.timetable(let path), .string(let text)):
            let timetable: Timetable?
            do throws(DownloadError) { timetable = text.isEmpty ? nil : try Timetable(text) } catch {
                throw Problem.invalidField("\(name): \(error.message)")
            }
            return .downloader { $0[keyPath: path] = timetable }
        case (.kept(_, _, let change), _):
            return .kept(try change(value == .null || value == .string("") ? nil : value, live))
        default: throw wrong
        }
    }

    private var wrong: Problem {
        let bounds = range.map { "; it is a number from \($0.lowerBound) to \($0.upperBound)" } ?? ""
        return Problem.invalidField("\(name) has a wrong type or value\(bounds).")
    }
}
