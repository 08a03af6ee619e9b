import Configuration
import Foundation
import HaulAria2
import HaulKit
import HaulServer
import Logging

/// The settings of the daemon, read from options, the environment and a file, in this order of precedence.
///
/// Each value comes from an entry of ``ServeSetting``.
struct ServeSettings {
    /// Name, value and source of each setting, for `--print-config`.
    private(set) var lines: [String] = []
    /// The folder of the state of downloads. ``ServerConfiguration/stateFolder`` is a folder below it.
    var stateFolder = ""
    var server = ServerConfiguration(stateFolder: "", folder: "")
    /// The values of aria2's settings. They are checked together after all settings have been read.
    var aria2Values = Aria2Values()
    /// The settings of aria2's RPC; `nil` if it is off.
    private(set) var aria2: Aria2ServerConfiguration?
    /// The addresses that downloads may not connect to, including link-local ones unless ``allowsLinkLocal``.
    var deniedAddresses: [AddressBlock] = []
    var allowsLinkLocal = false
    var jobs = 1
    /// Values of the hook settings. They are checked only when the daemon starts, because other commands also read the
    /// settings and need no hooks.
    var hooks = HookValues()
    var logLevel = Logger.Level.info
    var logFormat = DaemonLog.Format.text
    /// Permissions that new files and folders do not get; `nil` for the umask that the process inherits.
    var umask: UInt32?

    private typealias Source = (name: String, reader: ConfigReader)

    static func read(_ options: ServeOptions) async throws -> ServeSettings {
        let file = options.config ?? XDG.configuration + "/serve.json"
        let inFile = try fileValues(file, isNamed: options.config != nil)
        let environment = EnvironmentVariablesProvider().prefixKeys(with: "haul")
        return try ServeSettings([
            ("option", ConfigReader(provider: InMemoryProvider(values: flags(options)))),
            ("environment", ConfigReader(provider: environment)),
            (file, ConfigReader(provider: InMemoryProvider(values: inFile))),
        ])
    }

    private init(_ sources: [Source]) throws {
        for setting in ServeSetting.inReadingOrder {
            switch setting.kind {
            case .text(let standard, let apply):
                let found = Self.first(sources) { $0.string(forKey: setting.readerKey) }
                let text = found?.value ?? standard(self)
                let shown = found != nil && setting.isSecret ? "***" : text
                lines.append("\(setting.name) = \(shown)  (\(found?.source ?? "default"))")
                try apply(text, &self)
            case .list(let apply):
                let found = Self.first(sources) { $0.stringArray(forKey: setting.readerKey) }
                let shown = found.map { setting.isSecret ? " ***" : " \($0.value.joined(separator: ", "))" } ?? ""
                lines.append("\(setting.name) =\(shown)  (\(found?.source ?? "default"))")
                try apply(found?.value ?? [], &self)
            case .json(let apply):
                let found = Self.first(sources) { $0.string(forKey: setting.readerKey) }
                lines.append("\(setting.name) = \(found?.value ?? "")  (\(found?.source ?? "default"))")
                guard let text = found?.value, !text.isEmpty else { continue }
                guard let json = JSONValue(text: text) else {
                    throw Complaint("\(setting.name) is not JSON: \(text.prefix(100))", .usage)
                }
                try apply(json, &self)
            }
        }
        let denied = deniedAddresses
        if !allowsLinkLocal { deniedAddresses += AddressBlock.linkLocal.filter { !denied.contains($0) } }
        aria2 = try aria2Values.configuration(server)
    }

    /// Checks that the folders of rules and groups are allowed. Commands other than `serve` read the settings without
    /// this check.
    ///
    /// - Throws: ``Complaint`` that names the first rule or group whose folder is not allowed.
    func checkFolders() throws {
        do throws(Problem) {
            try server.placement.check(server.allowedFolders)
        } catch {
            throw Complaint([error.detail, error.suggestion].compactMap(\.self).joined(separator: " "), .usage)
        }
    }

    /// Returns the value of the first source that has one, and the name of this source.
    private static func first<Value>(
        _ sources: [Source],
        _ read: (ConfigReader) -> Value?
    ) -> (value: Value, source: String)? {
        for source in sources {
            if let value = read(source.reader) { return (value, source.name) }
        }
        return nil
    }

    private static func flags(_ options: ServeOptions) -> [AbsoluteConfigKey: ConfigValue] {
        var values: [AbsoluteConfigKey: ConfigValue] = [:]
        for setting in ServeSetting.all {
            if let value = setting.given(options) { values[setting.key] = setting.configValue(value) }
        }
        return values
    }

    /// Returns the values of the file. Refuses a name that is no setting, because it would be silently ignored.
    private static func fileValues(_ path: String, isNamed: Bool) throws -> [AbsoluteConfigKey: ConfigValue] {
        guard isNamed || FileManager.default.fileExists(atPath: path) else { return [:] }
        let object: [String: JSONValue]
        do {
            let data = try Data(contentsOf: URL(fileURLWithPath: path))
            object = try JSONDecoder().decode([String: JSONValue].self, from: data)
        } catch let error as DecodingError {
            throw Complaint("\(path) is not a JSON object of settings: \(error)", .usage)
        } catch { throw Complaint("\(path) cannot be read: \(error.localizedDescription)", .usage) }
        var values: [AbsoluteConfigKey: ConfigValue] = [:]
        for (name, json) in object {
            guard let setting = ServeSetting.named(name) else {
                let names = ServeSetting.all.map(\.name).joined(separator: ", ")
                throw Complaint("\(path): there is no setting named \(name). Settings: \(names).", .usage)
            }
            values[setting.key] = setting.configValue(try setting.value(json, in: path))
        }
        return values
    }
}

extension ServeSetting {
    fileprivate var key: AbsoluteConfigKey { AbsoluteConfigKey(name.split(separator: "-").map(String.init)) }

    fileprivate var readerKey: ConfigKey { ConfigKey(name.split(separator: "-").map(String.init)) }

    fileprivate func configValue(_ value: Value) -> ConfigValue {
        switch value {
        case .text(let text): ConfigValue(.string(text), isSecret: isSecret)
        case .list(let list): ConfigValue(.stringArray(list), isSecret: isSecret)
        }
    }

    /// The texts of a setting that is on or off; `nil` for other settings.
    private var words: (off: String, on: String)? {
        switch name {
        case Self.allowLinkLocal.name, Self.aria2NotifyAll.name: ("false", "true")
        case Self.playing.name: ("off", "on")
        default: nil
        }
    }

    /// Returns the value that the file gives this setting.
    ///
    /// - Throws: ``Complaint`` if the value has a wrong type.
    fileprivate func value(_ json: JSONValue, in path: String) throws -> Value {
        switch (kind, json) {
        case (.text, .string(let text)): return .text(text)
        case (.text, .integer(let number)): return .text(String(number))
        case (.text, .bool(let isOn)) where words != nil: return .text((isOn ? words?.on : words?.off) ?? "")
        case (.text, .array): throw Complaint("\(path): \(name) must be a text or a number.", .usage)
        case (.json, .array), (.json, .object): return .text(json.jsonText)
        case (.list, .string), (.list, .integer):
            throw Complaint("\(path): \(name) must be a list of texts.", .usage)
        case (.list, .array(let items)):
            return .list(
                try items.map { item in
                    guard case .string(let text) = item else {
                        throw Complaint("\(path): \(name) must be a list of texts.", .usage)
                    }
                    return text
                }
            )
        default: throw Complaint("\(path): \(name) has a wrong type.", .usage)
        }
    }
}
