internal import Foundation

/// A setting that the store remembers when ``Downloader/update(_:)`` changes it: its name in the store, and how its
/// value is encoded and decoded.
///
/// Settings that may hold secrets (hooks) or that are closures (the source provider) are not remembered.
struct RememberedSetting: Sendable {
    typealias Configuration = Downloader.Configuration

    /// The path of the property.
    let name: String
    /// Returns the new value as JSON; `nil` if both configurations have the same value, or the value cannot be encoded.
    let change: @Sendable (_ old: Configuration, _ new: Configuration) -> String?
    /// Applies a stored value. Returns `false` and changes nothing for an unreadable or implausible value.
    let apply: @Sendable (_ json: String, inout Configuration) -> Bool

    private init<Value: Codable & Equatable & Sendable>(
        _ name: String,
        _ path: any WritableKeyPath<Configuration, Value> & Sendable,
        isPlausible: @escaping @Sendable (Value) -> Bool = { _ in true }
    ) {
        self.name = name
        change = { old, new in
            let value = new[keyPath: path]
            guard value != old[keyPath: path] else { return nil }
            // Encodes a list of one, because not every version of the encoder takes a bare value. Encoding cannot fail,
            // because the values are numbers, flags, texts and lists of them.
            return (try? JSONEncoder().encode([value])).map { String(decoding: $0, as: UTF8.self) }
        }
        apply = { json, configuration in
            // The store may have been edited. The caller reports the name of an unreadable setting.
            guard let values = try? JSONDecoder().decode([Value].self, from: Data(json.utf8)), values.count == 1,
                isPlausible(values[0])
            else { return false }
            configuration[keyPath: path] = values[0]
            return true
        }
    }

    static let all: [RememberedSetting] = [
        .init("queue.maxConcurrentDownloads", \.queue.maxConcurrentDownloads, isPlausible: isSmall),
        .init("queue.maxPerHost", \.queue.maxPerHost) { $0.map(isSmall) ?? true },
        .init("queue.hostSpacing", \.queue.hostSpacing, isPlausible: isShort),
        .init("queue.preempts", \.queue.preempts),
        .init("queue.timetable", \.queue.timetable),
        .init("connections.maxPerDownload", \.connections.maxPerDownload, isPlausible: isSmall),
        .init("connections.initial", \.connections.initial, isPlausible: isSmall),
        .init("connections.maxPerHost", \.connections.maxPerHost, isPlausible: isSmall),
        .init("connections.smallestPiece", \.connections.smallestPiece, isPlausible: isSize),
        .init("network.bytesPerSecond", \.network.bytesPerSecond) { $0.map(isSize) ?? true },
        .init("network.waitsForNetwork", \.network.waitsForNetwork),
        .init("network.allowsMetered", \.network.allowsMetered),
        .init("storage.waitsForSpace", \.storage.waitsForSpace),
        .init("storage.reservedDiskSpace", \.storage.reservedDiskSpace, isPlausible: isSize),
        .init("storage.diskQuota", \.storage.diskQuota) { $0.map(isSize) ?? true },
        .init("storage.progressInterval", \.storage.progressInterval, isPlausible: isInterval),
        .init("storage.syncInterval", \.storage.syncInterval, isPlausible: isInterval),
        .init("retry", \.retry) { policy in
            [policy.attempts, policy.attemptsBeforeFirstAnswer].allSatisfy(isSmall)
                && [policy.base, policy.cap, policy.retryAfterCap].allSatisfy(isShort)
        },
    ]

    // The store may have been edited. These limits keep the values in the range that later calculations handle.

    @Sendable private static func isSmall(_ count: Int) -> Bool { abs(Int64(clamping: count) >> 1) < 1 << 30 }
    @Sendable private static func isSize(_ bytes: Int64) -> Bool { bytes > -(1 << 53) && bytes < 1 << 53 }
    @Sendable private static func isShort(_ time: Duration) -> Bool { time >= .zero && time <= .seconds(30 * 86_400) }
    @Sendable private static func isInterval(_ time: Duration) -> Bool { time >= .milliseconds(1) && isShort(time) }
}

extension Downloader.Configuration {
    /// Applies settings that a store remembers.
    ///
    /// - Returns: the names of unknown settings and of settings without a plausible value, which change nothing.
    mutating func assign(_ settings: [StoredSetting]) -> [String] {
        settings.filter { stored in
            guard let json = stored.value, let setting = RememberedSetting.all.first(where: { $0.name == stored.name })
            else { return true }
            return !setting.apply(json, &self)
        }.map(\.name)
    }

    /// Returns the settings to remember that differ from those of an earlier configuration.
    func changes(from old: Self) -> [StoredSetting] {
        RememberedSetting.all.compactMap { setting in
            setting.change(old, self).map { StoredSetting(name: setting.name, value: $0) }
        }
    }
}
