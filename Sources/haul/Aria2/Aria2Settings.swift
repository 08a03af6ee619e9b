import Foundation
import HaulAria2
import HaulKit
import HaulServer

/// The settings of one `aria2c` from its command line, the environment and the configuration file, and the downloads
/// that they name.
struct Aria2Settings {
    /// Reason why `aria2c` cannot begin.
    struct Failure: Error {
        let sentence: String
        let status: Aria2ErrorCode
        var isAboutUsage = false
        var option: String?
    }

    private(set) var global = Aria2Options()
    private(set) var requests: [Aria2Request] = []
    /// Warnings for the console, which does not exist yet when the settings are read.
    private(set) var warnings: [String] = []
    private var roots: [String] = []

    /// The folders in which clients of the RPC may save files; `nil` for any.
    var allowedFolders: AllowedFolders? {
        roots.first.map { AllowedFolders(folder: $0, roots: Array(roots.dropFirst())) }
    }

    init(_ line: Aria2CommandLine, environment: [String: String]) throws(Failure) {
        roots = line.roots
        global = try Self.configured(line, environment, &warnings)
        for name in ["http", "https", "all"] {
            guard let proxy = environment["\(name)_proxy"], !proxy.isEmpty else { continue }
            do throws(Aria2OptionError) { try global.set("\(name)-proxy", proxy) } catch {
                warnings.append("The variable \(name)_proxy is ignored: \(error.detail)")
            }
        }
        if let hosts = environment["no_proxy"], !hosts.isEmpty { try set("no-proxy", hosts) }
        global.merge(line.options)
        if global["dir"]?.hasPrefix("/") != true {
            let current = try Self.currentFolder(for: global["dir"] ?? "")
            if global["dir"] == nil { try set("dir", current) }
        }
        if global["conf-path"] == nil { try set("conf-path", Self.standardPath(environment)) }
        if global["netrc-path"] == nil { try set("netrc-path", HomeFolder.path(".netrc", environment)) }
        try refuseWhatIsMissing()
        requests = try named(line.arguments) + listed()
        guard !requests.isEmpty || servesRPC || global["input-file"] != nil else {
            throw Failure(sentence: "Specify at least one URL.", status: .unknown, isAboutUsage: true)
        }
    }

    var servesRPC: Bool { global.flag("enable-rpc") }

    private mutating func set(_ name: String, _ value: String) throws(Failure) {
        do throws(Aria2OptionError) { try global.set(name, value) } catch { throw Self.failure(error) }
    }

    private static func currentFolder(for path: String) throws(Failure) -> String {
        do throws(DownloadError) { return try FilePaths.currentFolder(for: path) } catch {
            throw Failure(sentence: error.message, status: Aria2ErrorCode(error))
        }
    }

    static func failure(_ error: Aria2OptionError) -> Failure {
        Failure(sentence: "\(error.message)\n  -> \(error.detail)", status: .badOption, option: error.option)
    }

    // MARK: Configuration file

    private static func standardPath(_ environment: [String: String]) -> String {
        Aria2ConfigurationFile.path(home: HomeFolder.path(environment), environment: environment) {
            FileManager.default.fileExists(atPath: $0)
        }
    }

    private static func configured(
        _ line: Aria2CommandLine,
        _ environment: [String: String],
        _ warnings: inout [String]
    ) throws(Failure) -> Aria2Options {
        if line.options.flag("no-conf") { return Aria2Options() }
        let path = line.options["conf-path"] ?? standardPath(environment)
        guard FileManager.default.fileExists(atPath: path) else {
            guard line.options["conf-path"] != nil else { return Aria2Options() }
            throw Failure(sentence: "Configuration file \(path) is not found.", status: .unknown, isAboutUsage: true)
        }
        do throws(Aria2Error) {
            let file = try Aria2ConfigurationFile(path: path)
            warnings += file.unknownOptions.map { "Unknown option: \($0)" }
            return file.options
        } catch {
            throw Failure(sentence: "Parse error in \(path)\n\(error.message)", status: error.code)
        }
    }

    /// Refuses options that Haul does not implement and cannot ignore, because the downloads or their protection would
    /// be different.
    private mutating func refuseWhatIsMissing() throws(Failure) {
        if let file = global["torrent-file"], !file.isEmpty {
            throw Failure(sentence: "Haul has no BitTorrent: \(file) cannot be downloaded.", status: .unknown)
        }
        if let file = global["metalink-file"], !file.isEmpty {
            throw Failure(sentence: "Use haul get --metalink \(file) for the files of a Metalink.", status: .unknown)
        }
        if servesRPC, global["rpc-user"] != nil || global["rpc-passwd"] != nil {
            throw Failure(
                sentence: "rpc-user and rpc-passwd protect nothing here: name a token with rpc-secret.",
                status: .badOption
            )
        }
        if servesRPC, global.flag("rpc-listen-all"), (global["rpc-secret"] ?? "").isEmpty {
            throw Failure(
                sentence: "rpc-listen-all needs rpc-secret: anyone in the network could save files here.",
                status: .badOption
            )
        }
        if servesRPC, global.flag("rpc-secure") {
            throw Failure(
                sentence: "The RPC is served without TLS (rpc-secure): put a server with TLS before it.",
                status: .badOption
            )
        }
        if global["check-certificate"] == "false" {
            warnings.append("check-certificate=false is ignored: Haul always checks certificates.")
        }
    }

    // MARK: Downloads

    /// Makes one request for all URIs of the command line, or, with `-Z`, one request for each URI.
    private func named(_ uris: [String]) throws(Failure) -> [Aria2Request] {
        guard !uris.isEmpty else { return [] }
        for uri in uris where !Self.isPossible(uri) {
            throw Failure(sentence: "Unrecognized URI or unsupported protocol: \(uri)", status: .unknown)
        }
        var options = global.filtered { $0.scope == .download }
        // Without the RPC no client could unpause the download. aria2 ignores `pause` there too.
        if !servesRPC { options.remove("pause") }
        return try split(uris, &options)
    }

    private func split(_ uris: [String], _ options: inout Aria2Options) throws(Failure) -> [Aria2Request] {
        var uris = uris
        if (options["parameterized-uri"] ?? global["parameterized-uri"]) == "true" {
            do throws(Aria2Error) {
                var all: [String] = []
                for uri in uris { all += try ParameterizedURI.expanded(uri) }
                uris = all
            } catch { throw Failure(sentence: error.message, status: error.code) }
        }
        guard global.flag("force-sequential") else { return [Aria2Request(uris: uris, options: options)] }
        options.remove("out")
        return uris.map { [options] in Aria2Request(uris: [$0], options: options) }
    }

    private static func isPossible(_ uri: String) -> Bool {
        let start = uri.prefix(8).lowercased()
        return start.hasPrefix("http://") || start.hasPrefix("https://")
    }

    private mutating func listed() throws(Failure) -> [Aria2Request] {
        guard let path = global["input-file"], !path.isEmpty else { return [] }
        let file: Aria2InputFile
        do throws(Aria2Error) { file = try Aria2InputFile(path: path) } catch {
            throw Failure(sentence: error.message, status: error.code)
        }
        warnings += file.unknownOptions.map { "Unknown option: \($0)" }
        var requests: [Aria2Request] = []
        for listed in file.requests {
            var options = listed.options
            if !servesRPC { options.remove("pause") }
            requests += try split(listed.uris, &options)
        }
        return requests
    }
}
