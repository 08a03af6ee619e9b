import ArgumentParser
import Foundation
import HaulDesktop
package import HaulKit

/// Options for the network and for the state folder, shared by all commands that download.
struct NetworkOptions: ParsableArguments {
    @OptionGroup(title: OptionTitle.speed) var speed: SpeedOptions

    @OptionGroup(title: OptionTitle.network) var connection: ConnectionOptions

    @OptionGroup(title: OptionTitle.credentials) var fields: FieldOptions

    @OptionGroup(title: OptionTitle.disk) var state: StateOptions

    var headers: [HeaderField] { fields.headers }

    func configuration() throws -> Downloader.Configuration {
        var configuration = Downloader.Configuration(stateFolder: state.stateDir)
        configuration.storage.restoration = .onRequest
        configuration.storage.onStoreWait = {
            Output.error("Another program has locked the store \($0). Waiting for it.")
        }
        configuration.storage.onOddRow = {
            Output.error("A row of the store cannot be read (\($0)) and is ignored.")
        }
        configuration.storage.onStoreChange = { if let error = $0 { Output.error(error.message) } }
        // Lets downloads fail on a full disk instead of waiting, because scripts rely on this error.
        configuration.storage.waitsForSpace = false
        configuration.network.waitsForNetwork = connection.waitForNetwork
        configuration.useDesktopServices()
        configuration.network.bytesPerSecond = speed.limitRate?.bytes
        if let retries = connection.retries {
            configuration.retry.attempts = retries
            configuration.retry.attemptsBeforeFirstAnswer = retries
        }
        if let timeout = connection.timeout {
            configuration.connections.connectTimeout = .seconds(timeout.value)
            configuration.connections.stallTimeout = .seconds(timeout.value)
        }
        if let connections = speed.connections {
            configuration.connections.maxPerDownload = connections
            configuration.connections.initial = connections
            configuration.connections.maxPerHost = max(configuration.connections.maxPerHost, connections)
        }
        configuration.network.certificateAuthorities = try connection.cacert.map(Self.certificates)
        if let userAgent = fields.origin.userAgent { configuration.network.userAgent = userAgent.text }
        configuration.network.proxies =
            if let proxy = connection.proxy {
                ProxySettings(try Self.usage { () throws(DownloadError) in try .init(proxy) })
            } else {
                try .environment(ProcessInfo.processInfo.environment)
            }
        let binding = connection.interface?.binding
        if let binding { try Self.usage { () throws(DownloadError) in try binding.check() } }
        configuration.network.binding = binding
        if fields.netrc { configuration.network.netrc = try Self.readNetrc() }
        return configuration
    }

    func apply(to request: inout DownloadRequest) {
        request.headers = headers
        request.allowsInsecureRedirects = connection.allowInsecureRedirects
    }

    /// Applies the options to a file of a Metalink. The request gets the header fields if its URL has the origin that
    /// the Metalink was fetched from. For a local Metalink, all URLs of the file must have one origin.
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

    /// Reports an error of an option as wrong usage, before any request is made.
    private static func usage<Value>(_ body: () throws(DownloadError) -> Value) throws -> Value {
        do throws(DownloadError) { return try body() } catch { throw Complaint(error.message, .usage) }
    }

    private static func certificates(_ path: String) throws -> String {
        let data = try OptionFile.contents(path, limit: mostCertificateBytes)
        guard data.count <= mostCertificateBytes, data.range(of: Data("-----BEGIN".utf8)) != nil else {
            throw Complaint("\(path) holds no certificates in PEM form.", .usage)
        }
        return path
    }

    private static let mostCertificateBytes = 16 << 20

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

/// A header field as it was typed. Accepts every text, because the parser prints arguments that it refuses, and a field
/// may hold a password.
struct HeaderArgument: ExpressibleByArgument {
    /// `nil` if the text is not a header field.
    let field: HeaderField?
    init(argument: String) { field = HeaderField(argument) }
}

/// An interface or a local address as it was typed.
struct BindingArgument: ExpressibleByArgument {
    let binding: NetworkBinding

    init?(argument: String) {
        guard !argument.isEmpty else { return nil }
        binding = NetworkBinding(argument)
    }
}

extension ByteCount: ExpressibleByArgument {
    package init?(argument: String) { self.init(argument) }
}
