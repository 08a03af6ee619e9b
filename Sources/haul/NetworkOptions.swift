public import ArgumentParser
import Foundation
import HaulDesktop
public import HaulKit

/// How the network is used, and where state is kept: the same for every command that downloads.
struct NetworkOptions: ParsableArguments {
    @Option(
        name: [.customShort("c", allowingJoined: true), .long],
        help: "Connections per file, opened at once. Default: as many as increase the speed, up to 16."
    )
    var connections: Int?

    @Option(help: "Limit in bytes per second, for all files together: 800000, 500k, 2M, 1.5MiB.")
    var limitRate: ByteCount?

    @Option(
        name: .long,
        help: "Send a header field, as 'Name: value'. Repeatable. Not sent to other origins."
    )
    var header: [HeaderArgument] = []
    var headers: [HeaderField] { header.compactMap(\.field) }

    @Flag(help: "Follow redirects from https to http.")
    var allowInsecureRedirects = false

    @Option(help: "Number of attempts in a row that may fail without a new byte.")
    var retries: Int?

    @Option(help: "Seconds without data, or for connecting, after which an attempt fails.")
    var timeout: Double?

    @Option(help: "Trust the certificates in this PEM file in addition to the system's.", completion: .file())
    var cacert: String?

    @Option(help: "Proxy for all URLs: http://host:port or socks5://host:port. Default: the proxy variables.")
    var proxy: String?

    @Option(
        name: .customLong("interface"),
        help: ArgumentHelp("Network interface or local address to connect from.", valueName: "name|address")
    )
    var binding: NetworkBinding?

    @Flag(help: "Without a network, wait until there is one instead of failing.")
    var waitForNetwork = false

    @Flag(help: "Read user names and passwords from $HOME/.netrc.")
    var netrc = false

    @Option(
        help: "Folder for the state of downloads (default: HAUL_STATE_DIR, else the XDG state folder).",
        completion: .directory
    )
    var stateDir: String?

    func validate() throws {
        guard header.allSatisfy({ $0.field != nil }) else {
            throw ValidationError(
                "--header takes a field as 'Name: value'. What was given is not shown, since it may hold a password."
            )
        }
        if let connections, !(1...256).contains(connections) {
            throw ValidationError("--connections takes a number from 1 to 256.")
        }
        if let limitRate, limitRate.bytes < 1 { throw ValidationError("--limit-rate takes a number above 0.") }
        if let retries, retries < 0 { throw ValidationError("--retries takes a number of at least 0.") }
        if let timeout, !(timeout > 0 && timeout < 1e6) {
            throw ValidationError("--timeout takes a number of seconds above 0.")
        }
    }

    func configuration() throws -> Configuration {
        var configuration = Configuration(stateFolder: stateDir)
        configuration.restoration = .onRequest
        configuration.onStoreWait = {
            Output.error("Another program has locked the store \($0). Waiting for it.")
        }
        configuration.onOddRow = {
            Output.error("A row of the store cannot be read (\($0)) and is ignored.")
        }
        // Scripts rely on a full disk being an error.
        configuration.waitsForSpace = false
        configuration.waitsForNetwork = waitForNetwork
        configuration.useDesktopServices()
        configuration.bytesPerSecond = limitRate?.bytes
        if let retries {
            configuration.retry.attempts = retries
            configuration.retry.attemptsBeforeFirstAnswer = retries
        }
        if let timeout {
            configuration.connectTimeout = .seconds(timeout)
            configuration.stallTimeout = .seconds(timeout)
        }
        if let connections {
            configuration.connectionsPerDownload = connections
            configuration.initialConnections = connections
            configuration.connectionsPerHost = max(configuration.connectionsPerHost, connections)
        }
        configuration.certificateAuthorities = cacert
        configuration.proxies =
            if let proxy { ProxySettings(try .init(proxy)) } else {
                try .environment(ProcessInfo.processInfo.environment)
            }
        try binding?.check()
        configuration.binding = binding
        if netrc { configuration.netrc = try Self.readNetrc() }
        return configuration
    }

    func apply(to request: inout DownloadRequest) {
        request.headers = headers
        request.allowsInsecureRedirects = allowInsecureRedirects
    }

    /// The same for a file of a Metalink. Header fields are meant for somebody: for whom the Metalink came from, or where that is a
    /// file, for the only origin that it names.
    func apply(to request: inout DownloadRequest, from metalink: MetalinkOption) {
        apply(to: &request)
        let origins = Set(([request.url] + request.mirrors.map(\.url)).map(Self.origin))
        let isMeant = metalink.url.map { Self.origin($0) == Self.origin(request.url) } ?? (origins.count == 1)
        if !isMeant { request.headers = [] }
    }

    private static func origin(_ url: URL) -> String {
        let scheme = url.scheme?.lowercased() ?? ""
        return "\(scheme)://\(url.host?.lowercased() ?? ""):\(url.port ?? (scheme == "https" ? 443 : 80))"
    }

    private static func readNetrc() throws -> Netrc {
        let path = HomeFolder.path(".netrc")
        do throws(DownloadError) {
            let netrc = try Netrc(contentsOfFile: path)
            if netrc.isReadableByOthers {
                Output.error(
                    "Warning: other users may read the passwords in \(path). Run: chmod 600 \(path)"
                )
            }
            return netrc
        } catch {
            throw Complaint(error.message, .usage)
        }
    }
}

/// A header field as it was typed. The parser prints arguments that it refuses, and a field may hold a password.
struct HeaderArgument: ExpressibleByArgument {
    /// Nil where the text is none.
    let field: HeaderField?
    init(argument: String) { field = HeaderField(argument) }
}

extension NetworkBinding: ExpressibleByArgument {
    public init?(argument: String) {
        guard !argument.isEmpty else { return nil }
        self.init(argument)
    }
}

extension ByteCount: ExpressibleByArgument {
    public init?(argument: String) { self.init(argument) }
}
