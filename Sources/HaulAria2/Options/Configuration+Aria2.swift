internal import Foundation
package import HaulKit

extension Downloader.Configuration {
    /// Applies aria2's global options, including those that are read only when a downloader opens.
    ///
    /// - Throws: ``Aria2OptionError`` for a proxy that Haul cannot use, or for unreadable cookies.
    package mutating func apply(aria2 global: Aria2Options) throws(Aria2OptionError) {
        let options = Aria2Options.complete(global)
        applyLimits(options)
        if let seconds = options.limit("timeout") { connections.stallTimeout = .seconds(seconds) }
        if let seconds = options.limit("connect-timeout") { connections.connectTimeout = .seconds(seconds) }
        network.proxies = try Self.proxies(options)
        if let interface = options["interface"], !interface.isEmpty { network.binding = NetworkBinding(interface) }
        if let file = global["ca-certificate"], !file.isEmpty { network.certificateAuthorities = file }
        if let agent = options["user-agent"], !agent.isEmpty { network.userAgent = agent }
        network.netrc = Self.netrc(options)
        network.collectsCookies = options["save-cookies"] != nil
        if let file = options["load-cookies"], !file.isEmpty { network.cookies = try Self.cookies(file) }
    }

    /// Applies the options that may change while the downloader runs; see ``Downloader/update(_:)``.
    package mutating func applyLimits(aria2 global: Aria2Options) { applyLimits(Aria2Options.complete(global)) }

    private mutating func applyLimits(_ options: Aria2Options) {
        queue.maxConcurrentDownloads = Self.count(options, "max-concurrent-downloads", else: 5)
        network.bytesPerSecond = options.limit("max-overall-download-limit")
        connections.smallestPiece = options.limit("min-split-size") ?? connections.smallestPiece
        let split = Self.count(options, "split", else: 5)
        let perHost = Self.count(options, "max-connection-per-server", else: 1)
        connections.maxPerDownload = min(split, Self.mostConnections)
        // `maxPerHost` counts the connections of all downloads to a host; aria2's limit counts those of each download.
        let (product, overflow) = perHost.multipliedReportingOverflow(by: queue.maxConcurrentDownloads)
        connections.maxPerHost =
            overflow ? Self.mostPerHost : min(max(product, connections.maxPerHost), Self.mostPerHost)
        if let tries = options.number("max-tries") {
            // 0 means no limit.
            let attempts = tries == 0 ? Self.mostAttempts : Int(clamping: min(tries, Int64(Self.mostAttempts)))
            retry.attempts = attempts
            retry.attemptsBeforeFirstAnswer = attempts
        }
        if let wait = options.limit("retry-wait") { retry.base = .seconds(wait) }
    }

    private static let mostConnections = 64
    private static let mostPerHost = 256
    private static let mostAttempts = 1_000_000

    private static func count(_ options: Aria2Options, _ name: String, else standard: Int) -> Int {
        options.limit(name).map { Int(clamping: min($0, 1 << 20)) } ?? standard
    }
}

// MARK: - Proxies

extension Downloader.Configuration {
    /// Returns the proxies. The proxy of a scheme takes precedence over `all-proxy`; an empty value means none.
    private static func proxies(_ options: Aria2Options) throws(Aria2OptionError) -> ProxySettings {
        func proxy(_ scheme: String) throws(Aria2OptionError) -> ProxySettings.Proxy? {
            let name = options["\(scheme)-proxy"] == nil ? "all-proxy" : "\(scheme)-proxy"
            guard let text = options[name], !text.isEmpty else { return nil }
            let withUser = Self.proxy(text, user: options[name + "-user"], password: options[name + "-passwd"])
            do throws(DownloadError) { return try ProxySettings.Proxy(withUser) } catch {
                throw Aria2OptionError(option: name, detail: error.message)
            }
        }
        let exceptions = (options["no-proxy"] ?? "").split { $0 == "," || $0 == " " }.map { $0.lowercased() }
        return ProxySettings(http: try proxy("http"), https: try proxy("https"), exceptions: exceptions)
    }

    private static func proxy(_ text: String, user: String?, password: String?) -> String {
        guard let user, !user.isEmpty, var parts = URLComponents(string: text) else { return text }
        parts.user = user
        parts.password = password
        return parts.string ?? text
    }
}

// MARK: - Files

extension Downloader.Configuration {
    /// Reads the netrc file. Like aria2, ignores a file that is unreadable or readable by other users.
    private static func netrc(_ options: Aria2Options) -> Netrc? {
        guard !options.flag("no-netrc"), let path = options["netrc-path"], !path.isEmpty,
            FileManager.default.fileExists(atPath: path)
        else { return nil }
        do throws(DownloadError) {
            let netrc = try Netrc(contentsOfFile: path)
            return netrc.isReadableByOthers ? nil : netrc
        } catch { return nil }
    }

    private static func cookies(_ path: String) throws(Aria2OptionError) -> Cookies {
        // Ignores a missing file, as aria2 does. On the first run, `save-cookies` has not written it yet.
        guard FileManager.default.fileExists(atPath: path) else { return Cookies() }
        do throws(DownloadError) { return try Cookies(contentsOf: path) } catch {
            throw Aria2OptionError(option: "load-cookies", detail: error.message)
        }
    }
}

extension Aria2Options {
    /// Returns aria2's defaults, replaced by the global values. Without `netrc-path`, adds this user's `~/.netrc`.
    static func complete(_ global: Aria2Options) -> Aria2Options {
        var options = defaults
        options.merge(global)
        if options["netrc-path"] == nil {
            // A text option accepts any path, so `set` does not throw.
            try? options.set("netrc-path", NSHomeDirectory() + "/.netrc")
        }
        return options
    }
}
