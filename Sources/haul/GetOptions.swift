public import ArgumentParser
import Foundation
public import HaulKit

/// How a download is made: what `get` shares with the commands to come.
struct GetOptions: ParsableArguments {
    @Option(
        name: [.short, .long],
        help: "Name the file. Fails if it exists, unless --on-conflict says otherwise.",
        completion: .file()
    )
    var output: String?

    @Option(name: [.short, .long], help: "Folder for the files.", completion: .directory)
    var directory: String = "."

    @Option(help: "What the file must be, as ALG:HEX (md5, sha1, sha256, sha512).")
    var checksum: Checksum?

    @Option(
        name: .long,
        help: "Send a header field, as 'Name: value'. Repeatable. Redirects to other origins do not get it."
    )
    var header: [HeaderField] = []

    @Option(help: "When the file exists: fail, rename, overwrite or skip.")
    var onConflict: DownloadRequest.ConflictPolicy?

    @Flag(help: "Give the file the time that the server says it was last changed.")
    var remoteTime = false

    @Flag(help: "Continue a file of which the server names no version, if its length and last bytes agree.")
    var resumeUnverified = false

    @Flag(help: "Fail instead of starting over when another version stands at the URL.")
    var failOnChange = false

    @Flag(help: "Follow redirects from https to http.")
    var allowInsecureRedirects = false

    @Option(help: "Attempts that may fail in a row without a byte of progress.")
    var retries: Int?

    @Option(help: "Seconds of silence, or of connecting, after which an attempt has failed.")
    var timeout: Double?

    @Option(help: "Trust the certificates in this PEM file beside the system's.", completion: .file())
    var cacert: String?

    @Option(help: "Proxy for everything: http://host:port or socks5://host:port. Otherwise the usual variables count.")
    var proxy: String?

    @Flag(help: "Take user names and passwords from ~/.netrc.")
    var netrc = false

    @Option(
        help: "Folder that keeps the state of downloads (default: HAUL_STATE_DIR, else the XDG state folder).",
        completion: .directory
    )
    var stateDir: String?

    func validate() throws {
        if let retries, retries < 0 { throw ValidationError("--retries takes a number from 0 on.") }
        if let timeout, !(timeout > 0 && timeout < 1e6) {
            throw ValidationError("--timeout takes a number of seconds above 0.")
        }
    }

    func configuration() throws -> Configuration {
        var configuration = Configuration(stateFolder: stateDir)
        configuration.restoration = .onRequest
        if let retries {
            configuration.retry.attempts = retries
            configuration.retry.attemptsBeforeFirstAnswer = retries
        }
        if let timeout {
            configuration.connectTimeout = .seconds(timeout)
            configuration.stallTimeout = .seconds(timeout)
        }
        configuration.certificateAuthorities = cacert
        configuration.proxies =
            if let proxy { ProxySettings(try .init(proxy)) } else {
                try .environment(ProcessInfo.processInfo.environment)
            }
        if netrc { configuration.netrc = try Self.readNetrc() }
        return configuration
    }

    func request(_ text: String) throws -> DownloadRequest {
        guard let url = URL(string: text) ?? URL(string: text.trimmingCharacters(in: .whitespacesAndNewlines)) else {
            throw Complaint(
                "A URL cannot be read. It should begin with http:// or https://; what stands in it is not shown, since it may hold a password.",
                .usage
            )
        }
        var request = DownloadRequest(url, to: output.map { .file(path: $0) } ?? .folder(path: directory))
        request.headers = header
        request.checksum = checksum
        request.onConflict = onConflict
        request.setsModificationTime = remoteTime
        request.resumesUnverified = resumeUnverified
        request.failsOnChange = failOnChange
        request.allowsInsecureRedirects = allowInsecureRedirects
        return request
    }

    private static func readNetrc() throws -> Netrc {
        let path = NSHomeDirectory() + "/.netrc"
        do {
            return Netrc(try String(contentsOfFile: path, encoding: .utf8))
        } catch {
            throw Complaint("\(path) cannot be read.", .usage)
        }
    }
}

extension HeaderField: ExpressibleByArgument {
    public init?(argument: String) { self.init(argument) }
}

extension DownloadRequest.ConflictPolicy: ExpressibleByArgument {}
