extension Downloader.Configuration {
    /// A setting that is read only when a downloader opens. ``Downloader/update(_:)`` leaves the setting as it is, and
    /// returns its path. The raw value is the path of the property.
    enum FixedSetting: String, CaseIterable {
        case monitor = "network.monitor"
        case meter = "network.meter"
        case cookies = "network.cookies"
        case collectsCookies = "network.collectsCookies"
        case certificateAuthorities = "network.certificateAuthorities"
        case name = "storage.name"
        case stateFolder = "storage.stateFolder"
        case isInMemory = "storage.isInMemory"
        case movingRoot = "storage.movingRoot"
        case restoration = "storage.restoration"
        case resumesAtStart = "storage.resumesAtStart"
        case remembersSettings = "storage.remembersSettings"
        case commandTime = "hooks.commandTime"
        case shutDownTime = "hooks.shutDownTime"
        case notifier = "hooks.notifier"
        case metrics = "telemetry.metrics"
        case logger = "telemetry.logger"
    }

    /// Overwrites the fixed settings with those of another configuration.
    ///
    /// - Returns: the paths of the public settings that were different.
    mutating func keepFixedSettings(of other: Self) -> Set<String> {
        var changed: Set<String> = []
        for setting in FixedSetting.allCases where keep(setting, of: other) { changed.insert(setting.rawValue) }
        network.eventLoops = other.network.eventLoops
        network.otherDescriptors = other.network.otherDescriptors
        network.admission = other.network.admission
        network.idleTimeout = other.network.idleTimeout
        hooks.limits = other.hooks.limits
        hooks.onFailure = other.hooks.onFailure
        storage.onStoreWait = other.storage.onStoreWait
        storage.onOddRow = other.storage.onOddRow
        storage.onStoreChange = other.storage.onStoreChange
        storage.makesFolders = other.storage.makesFolders
        storage.confined = other.storage.confined
        return changed
    }

    private mutating func keep(_ setting: FixedSetting, of other: Self) -> Bool {
        switch setting {
        case .monitor: keep(\.network.assignedMonitor, of: other)
        case .meter: keep(\.network.assignedMeter, of: other)
        case .cookies: keep(\.network.cookies, of: other)
        case .collectsCookies: keep(\.network.collectsCookies, of: other)
        case .certificateAuthorities: keep(\.network.certificateAuthorities, of: other)
        case .name: keep(\.storage.name, of: other)
        case .stateFolder: keep(\.storage.stateFolder, of: other)
        case .isInMemory: keep(\.storage.isInMemory, of: other)
        case .movingRoot: keep(\.storage.movingRoot, of: other)
        case .restoration: keep(\.storage.restoration, of: other)
        case .resumesAtStart: keep(\.storage.resumesAtStart, of: other)
        case .remembersSettings: keep(\.storage.remembersSettings, of: other)
        case .commandTime: keep(\.hooks.commandTime, of: other)
        case .shutDownTime: keep(\.hooks.shutDownTime, of: other)
        case .notifier: keep(\.hooks.assignedNotifier, of: other)
        case .metrics: keep(\.telemetry.assignedMetrics, of: other)
        case .logger: keep(\.telemetry.assignedLogger, of: other)
        }
    }

    private mutating func keep<Value: Equatable>(_ path: WritableKeyPath<Self, Value>, of other: Self) -> Bool {
        guard self[keyPath: path] != other[keyPath: path] else { return false }
        self[keyPath: path] = other[keyPath: path]
        return true
    }
}
