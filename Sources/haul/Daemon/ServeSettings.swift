import Configuration
import Foundation
import HaulAria2
import HaulKit
import HaulServer
import Logging

/// The settings of the daemon, read from options, the environment and a file, in this order of precedence.
struct ServeSettings {
    /// Name, value and source of each setting, for `--print-config`.
    private(set) var lines: [String] = []
    var server: ServerConfiguration
    /// The settings of aria2's RPC; `nil` if it is off.
    private(set) var aria2: Aria2ServerConfiguration?
    /// The addresses that downloads may not connect to.
    var deniedAddresses: [AddressBlock] = []
    var jobs: Int
    var logLevel: Logger.Level

    private static let names = [
        "listen", "socket", "directory", "root", "allow-host", "trust-proxy", "deny-address", "jobs", "max-streams",
        "log-level", "state-dir", "aria2-rpc", "aria2-secret", "aria2-secret-file", "aria2-allow-origin",
        "aria2-notify-all",
    ]
    private static let lists: Set<String> = [
        "root", "allow-host", "trust-proxy", "deny-address", "aria2-allow-origin",
    ]
    private static let secrets: Set<String> = ["aria2-secret"]

    static func read(_ options: ServeOptions) async throws -> ServeSettings {
        let file = options.config ?? XDG.configuration + "/serve.json"
        let inFile = try fileValues(file, isNamed: options.config != nil)
        let environment = EnvironmentVariablesProvider().prefixKeys(with: "haul")
        let sources: [(name: String, reader: ConfigReader)] = [
            ("option", ConfigReader(provider: InMemoryProvider(values: flags(options)))),
            ("environment", ConfigReader(provider: environment)),
            (file, ConfigReader(provider: InMemoryProvider(values: inFile))),
        ]
        return try ServeSettings(sources)
    }

    private static func flags(_ options: ServeOptions) -> [AbsoluteConfigKey: ConfigValue] {
        var values: [AbsoluteConfigKey: ConfigValue] = [:]
        func set(_ name: String, _ value: String?) {
            if let value { values[key(name)] = ConfigValue(.string(value), isSecret: secrets.contains(name)) }
        }
        func set(_ name: String, _ list: [String]) {
            if !list.isEmpty { values[key(name)] = ConfigValue(.stringArray(list), isSecret: false) }
        }
        set("listen", options.listen)
        set("socket", options.socket)
        set("directory", options.directory)
        set("root", options.root)
        set("allow-host", options.allowHost)
        set("trust-proxy", options.trustProxy)
        set("deny-address", options.denyAddress)
        set("jobs", options.jobs.map(String.init))
        set("max-streams", options.maxStreams.map(String.init))
        set("log-level", options.logLevel)
        set("state-dir", options.state.stateDir)
        set("aria2-rpc", options.aria2.aria2Rpc)
        set("aria2-secret", options.aria2.rpcSecret)
        set("aria2-secret-file", options.aria2.aria2SecretFile)
        set("aria2-allow-origin", options.aria2.aria2AllowOrigin)
        set("aria2-notify-all", options.aria2.aria2NotifyAll ? "true" : nil)
        return values
    }

    private static func key(_ name: String) -> AbsoluteConfigKey {
        AbsoluteConfigKey(name.split(separator: "-").map(String.init))
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
        for (name, value) in object {
            guard names.contains(name) else {
                throw Complaint(
                    "\(path): there is no setting named \(name). Settings: \(names.joined(separator: ", ")).",
                    .usage
                )
            }
            switch value {
            case .string, .integer:
                guard !lists.contains(name) else {
                    throw Complaint("\(path): \(name) must be a list of texts.", .usage)
                }
            case .array:
                guard lists.contains(name) else {
                    throw Complaint("\(path): \(name) must be a text or a number.", .usage)
                }
            default: break
            }
            switch value {
            case .string(let text): values[key(name)] = ConfigValue(.string(text), isSecret: false)
            case .integer(let number): values[key(name)] = ConfigValue(.string(String(number)), isSecret: false)
            case .array(let items):
                let texts = try items.map { item in
                    guard case .string(let text) = item else {
                        throw Complaint("\(path): \(name) must be a list of texts.", .usage)
                    }
                    return text
                }
                values[key(name)] = ConfigValue(.stringArray(texts), isSecret: false)
            default: throw Complaint("\(path): \(name) has a wrong type.", .usage)
            }
        }
        return values
    }

    private init(_ sources: [(name: String, reader: ConfigReader)]) throws {
        var lines: [String] = []
        func text(_ name: String, _ standard: String) -> String {
            for source in sources {
                if let value = source.reader.string(forKey: Self.readerKey(name)) {
                    let shown = Self.secrets.contains(name) ? "***" : value
                    lines.append("\(name) = \(shown)  (\(source.name))")
                    return value
                }
            }
            lines.append("\(name) = \(standard)  (default)")
            return standard
        }
        func list(_ name: String) -> [String] {
            for source in sources {
                if let value = source.reader.stringArray(forKey: Self.readerKey(name)) {
                    lines.append("\(name) = \(value.joined(separator: ", "))  (\(source.name))")
                    return value
                }
            }
            lines.append("\(name) =  (default)")
            return []
        }
        let stateFolder = try Self.absolute(text("state-dir", XDG.state))
        let folder = try Self.absolute(text("directory", XDG.downloads))
        server = ServerConfiguration(stateFolder: stateFolder + "/daemon", folder: folder)
        let address = text("listen", "127.0.0.1:4285")
        if address == "off" {
            server.listener = nil
        } else {
            guard let listener = ServerConfiguration.Listener(address) else {
                throw Complaint("--listen must be PORT, HOST:PORT or [IPv6]:PORT, not \(address).", .usage)
            }
            server.listener = listener
        }
        server.socketPath = try Self.absolute(text("socket", XDG.runtime(stateFolder) + "/daemon.sock"))
        server.roots = try list("root").map(Self.absolute)
        server.allowedHosts = Set(list("allow-host").map { $0.lowercased() })
        server.trustedProxies = Set(list("trust-proxy"))
        deniedAddresses = try list("deny-address").flatMap(Self.blocks)
        guard let jobs = Int(text("jobs", "3")), (1...1000).contains(jobs) else {
            throw Complaint("--jobs must be a number from 1 to 1000.", .usage)
        }
        self.jobs = jobs
        guard let streams = Int(text("max-streams", "32")), (1...10_000).contains(streams) else {
            throw Complaint("--max-streams must be a number from 1 to 10000.", .usage)
        }
        server.maxEventStreams = streams
        // Each event stream keeps a connection, in addition to those of requests.
        server.maxConnections = max(server.maxConnections, streams + 256)
        let level = text("log-level", "info")
        guard let logLevel = Logger.Level(rawValue: level) else {
            throw Complaint("--log-level must be trace, debug, info, notice, warning or error, not \(level).", .usage)
        }
        self.logLevel = logLevel
        aria2 = try Self.aria2(
            address: text("aria2-rpc", "off"),
            secret: text("aria2-secret", ""),
            secretFile: text("aria2-secret-file", ""),
            origins: list("aria2-allow-origin"),
            notifiesAll: text("aria2-notify-all", "false"),
            server
        )
        self.lines = lines
    }

    private static func blocks(_ text: String) throws -> [AddressBlock] {
        if text == "private" { return AddressBlock.nonPublic }
        guard let block = AddressBlock(text) else {
            throw Complaint(
                "--deny-address must be 'private', an IP address or a block such as 10.0.0.0/8, not \(text).",
                .usage
            )
        }
        return [block]
    }

    private static func readerKey(_ name: String) -> ConfigKey {
        ConfigKey(name.split(separator: "-").map(String.init))
    }

    private static func absolute(_ path: String) throws -> String {
        do throws(DownloadError) { return try FilePaths.absolute(path) } catch {
            throw Complaint(error.message, .usage)
        }
    }
}
