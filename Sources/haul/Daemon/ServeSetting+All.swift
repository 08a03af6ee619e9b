import HaulAria2
import HaulKit
import HaulServer
import Logging

extension ServeSetting {
    /// All settings, in the order of messages.
    static let all: [ServeSetting] = Array(
        [listeners, [directory], limits, downloads, hooks, [stateFolder], aria2].joined()
    )

    /// All settings, in the order in which they are read and printed: the default of `socket` depends on `state-dir`.
    static let inReadingOrder: [ServeSetting] =
        [stateFolder, directory] + listeners + limits + downloads + hooks + aria2

    /// The settings that apply after a new start, for a message.
    static var appliedAfterRestart: String {
        let names = (listeners + [directory] + limits).filter(\.appliesAfterRestart).map(\.name)
        return names.joined(separator: ", ") + ", the settings of hooks and aria2's settings"
    }

    private static let listeners: [ServeSetting] = [listen, socket]
    private static let limits: [ServeSetting] = [
        root, allowHost, trustProxy, denyAddress, allowLinkLocal, jobs, maxStreams, playing, logLevel,
        logFormat, umask,
    ]
    private static let aria2: [ServeSetting] = [
        aria2RPC, aria2Secret, aria2SecretFile, aria2AllowOrigin, aria2NotifyAll,
    ]

    // MARK: - Addresses

    static let listen: ServeSetting = .text(
        "listen",
        standard: { _ in "127.0.0.1:4285" },
        change: .restart { $0.server.listener },
        "Address and port of the page and the API (default: 127.0.0.1:4285); 'off' for the socket alone.",
        { $0.listen },
        apply: { address, settings in
            if address == "off" {
                settings.server.listener = nil
            } else {
                guard let listener = ServerConfiguration.Listener(address) else {
                    throw Complaint("--listen must be PORT, HOST:PORT or [IPv6]:PORT, not \(address).", .usage)
                }
                settings.server.listener = listener
            }
        }
    )

    static let socket: ServeSetting = .text(
        "socket",
        standard: { XDG.runtime($0.stateFolder) + "/daemon.sock" },
        change: .restart { $0.server.socketPath },
        "Unix socket for commands (default: daemon.sock in the XDG runtime folder).",
        { $0.socket },
        apply: { path, settings in settings.server.socketPath = try absolute(path) }
    )

    // MARK: - Folders

    static let directory: ServeSetting = .text(
        "directory",
        standard: { _ in XDG.downloads },
        change: .restart { $0.server.folder },
        "Folder for downloads (default: the XDG download folder, else ~/Downloads).",
        { $0.directory },
        apply: { path, settings in settings.server.folder = try absolute(path) }
    )

    static let stateFolder: ServeSetting = .text(
        "state-dir",
        standard: { _ in XDG.state },
        change: .never,
        StateOptions.help,
        { $0.state.stateDir },
        apply: { path, settings in
            settings.stateFolder = try absolute(path)
            settings.server.stateFolder = settings.stateFolder + "/daemon"
        }
    )

    // MARK: - Limits

    static let root: ServeSetting = .list(
        "root",
        change: .live,
        "Another folder that downloads may be saved in. May be given several times.",
        { $0.root },
        apply: { paths, settings in settings.server.roots = try paths.map { try absolute($0) } }
    )

    static let allowHost: ServeSetting = .list(
        "allow-host",
        change: .live,
        "A host name that requests may use besides localhost and IP addresses. May be given several times.",
        { $0.allowHost },
        apply: { names, settings in settings.server.allowedHosts = Set(names.map { $0.lowercased() }) }
    )

    static let trustProxy: ServeSetting = .list(
        "trust-proxy",
        change: .live,
        "IP address of a proxy of which X-Forwarded-Proto is believed. May be given several times.",
        { $0.trustProxy },
        apply: { addresses, settings in settings.server.trustedProxies = Set(addresses) }
    )

    static let denyAddress: ServeSetting = .list(
        "deny-address",
        change: .restart { $0.deniedAddresses },
        """
        Addresses that downloads may not connect to: 'private' (loopback, private and link-local networks), an IP address or a \
        block (10.0.0.0/8). May be given several times (default: link-local addresses alone).
        """,
        { $0.denyAddress },
        apply: { texts, settings in settings.deniedAddresses = try texts.flatMap { try blocks($0) } }
    )

    static let allowLinkLocal: ServeSetting = .text(
        "allow-link-local",
        standard: { _ in "false" },
        change: .restart { $0.allowsLinkLocal },
        "Let downloads connect to link-local addresses (169.254.0.0/16, fe80::/10), where clouds hand out credentials.",
        { $0.allowLinkLocal ? "true" : nil },
        apply: { text, settings in
            guard let isAllowed = Bool(text) else {
                throw Complaint("allow-link-local must be true or false, not \(text).", .usage)
            }
            settings.allowsLinkLocal = isAllowed
        }
    )

    static let jobs: ServeSetting = .text(
        "jobs",
        standard: { _ in "3" },
        change: .live,
        "Downloads at once (default: 3).",
        { options in options.jobs.map { String($0) } },
        apply: { text, settings in settings.jobs = try number("--jobs", text, 1...1000) }
    )

    static let maxStreams: ServeSetting = .text(
        "max-streams",
        standard: { _ in "32" },
        change: .live,
        "Event streams that may be open at once (default: 32).",
        { options in options.maxStreams.map { String($0) } },
        apply: { text, settings in
            let streams = try number("--max-streams", text, 1...10_000)
            settings.server.maxEventStreams = streams
            // Each event stream occupies one connection. 256 more connections are for requests.
            settings.server.maxConnections = max(settings.server.maxConnections, streams + 256)
        }
    )

    static let playing: ServeSetting = .text(
        "playing",
        standard: { _ in "on" },
        change: .live,
        "Whether films and music can be played while they are downloaded: on or off (default: on).",
        { $0.playing },
        apply: { text, settings in
            guard ["on", "off"].contains(text) else {
                throw Complaint("--playing must be on or off, not \(text).", .usage)
            }
            settings.server.playsUnfinished = text == "on"
        }
    )

    static let logLevel: ServeSetting = .text(
        "log-level",
        standard: { _ in "info" },
        change: .restart { $0.logLevel },
        "Least severe messages that are logged: trace, debug, info, notice, warning or error (default: info).",
        { $0.logLevel },
        apply: { level, settings in
            guard let logLevel = Logger.Level(rawValue: level) else {
                throw Complaint(
                    "--log-level must be trace, debug, info, notice, warning or error, not \(level).",
                    .usage
                )
            }
            settings.logLevel = logLevel
        }
    )

    static let logFormat: ServeSetting = .text(
        "log-format",
        standard: { _ in "text" },
        change: .restart { $0.logFormat },
        "Format of the log on standard error: text, or json for one JSON object a line (default: text).",
        { $0.logFormat },
        apply: { text, settings in
            guard let format = DaemonLog.Format(rawValue: text) else {
                throw Complaint("--log-format must be text or json, not \(text).", .usage)
            }
            settings.logFormat = format
        }
    )

    static let umask: ServeSetting = .text(
        "umask",
        standard: { _ in "" },
        change: .restart { $0.umask },
        """
        Permissions that new files and folders of downloads do not get, as an octal number: 002 lets the group write, 077 \
        excludes everybody else (default: those that the process inherits).
        """,
        { $0.umask },
        apply: { text, settings in
            guard !text.isEmpty else { return }
            // A mask that takes permissions from the owner would make the daemon's own files unusable.
            guard let mask = UInt32(text, radix: 8), mask <= 0o077 else {
                throw Complaint("--umask must be an octal number from 000 to 077, such as 002, not \(text).", .usage)
            }
            settings.umask = mask
        }
    )

    // MARK: - aria2

    static let aria2RPC: ServeSetting = .text(
        "aria2-rpc",
        standard: { _ in "off" },
        change: .restart { $0.aria2 },
        """
        Address and port of aria2's RPC, for its clients: PORT, HOST:PORT, or 'on' for 127.0.0.1:6800 (default: 'off').
        """,
        { $0.aria2.aria2Rpc },
        apply: { address, settings in settings.aria2Values.address = address }
    )

    static let aria2Secret: ServeSetting = .text(
        "aria2-secret",
        option: "rpc-secret",
        secret: true,
        standard: { _ in "" },
        change: .restart { $0.aria2 },
        "Secret of aria2's RPC, as aria2 names it. Others on this machine can read it: prefer --aria2-secret-file.",
        { $0.aria2.rpcSecret },
        apply: { secret, settings in settings.aria2Values.secret = secret }
    )

    static let aria2SecretFile: ServeSetting = .text(
        "aria2-secret-file",
        standard: { _ in "" },
        change: .restart { $0.aria2 },
        "File with the secret of aria2's RPC. HAUL_ARIA2_SECRET in the environment has the same effect.",
        { $0.aria2.aria2SecretFile },
        apply: { path, settings in settings.aria2Values.secretFile = path }
    )

    static let aria2AllowOrigin: ServeSetting = .list(
        "aria2-allow-origin",
        change: .restart { $0.aria2 },
        """
        An origin whose pages may use aria2's RPC, such as https://ariang.example; '*' for all. May be given several times.
        """,
        { $0.aria2.aria2AllowOrigin },
        apply: { origins, settings in settings.aria2Values.origins = origins }
    )

    static let aria2NotifyAll: ServeSetting = .text(
        "aria2-notify-all",
        standard: { _ in "false" },
        change: .restart { $0.aria2 },
        "Tell WebSockets of downloads before they have shown the secret, as aria2 does.",
        { $0.aria2.aria2NotifyAll ? "true" : nil },
        apply: { text, settings in settings.aria2Values.notifiesAll = text }
    )

    // MARK: - Values

    private static func number(_ option: String, _ text: String, _ range: ClosedRange<Int>) throws -> Int {
        guard let number = Int(text), range.contains(number) else {
            throw Complaint(
                "\(option) must be a number from \(range.lowerBound) to \(range.upperBound).",
                .usage
            )
        }
        return number
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

    private static func absolute(_ path: String) throws -> String {
        do throws(DownloadError) { return try FilePaths.absolute(path) } catch {
            throw Complaint(error.message, .usage)
        }
    }
}
