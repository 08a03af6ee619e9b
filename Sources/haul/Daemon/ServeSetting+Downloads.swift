import HaulKit
import HaulServer

/// Defaults of downloads. The page can change them while the daemon runs. Values from the page take precedence until
/// the page resets them.
extension ServeSetting {
    static let downloads: [ServeSetting] = [userAgent, proxy, rules, groups]

    static let userAgent: ServeSetting = .text(
        "user-agent",
        standard: { _ in "haul/" + Downloader.version },
        change: .live,
        "User-Agent of downloads (default: haul/VERSION).",
        { $0.downloads.userAgent },
        apply: { text, settings in
            guard HeaderField("User-Agent", text) != nil else {
                throw Complaint("--user-agent has characters that HTTP does not allow.", .usage)
            }
            settings.server.userAgent = text
        }
    )

    /// Secret, because a URL may contain a password.
    static let proxy: ServeSetting = .text(
        "proxy",
        secret: true,
        standard: { _ in "" },
        change: .live,
        "Proxy of downloads: http://host:port, socks5://host:port, or 'direct' for none (default: the proxy variables).",
        { $0.downloads.proxy },
        apply: { text, settings in
            do throws(DownloadError) { _ = try ProxyText.settings(text, nil) } catch {
                throw Complaint("--proxy: \(error.message)", .usage)
            }
            settings.server.proxy = text
        }
    )

    static let rules: ServeSetting = .json(
        "rules",
        change: .live,
        """
        Rules that choose folder, group and connections of downloads by host, extension and media type, as a JSON list; \
        better in the file (see docs/rules.md).
        """,
        { $0.downloads.rules },
        apply: { json, settings in settings.server.placement.rules = try read { try PlacementRules.rules(json) } }
    )

    static let groups: ServeSetting = .json(
        "groups",
        change: .live,
        "Folders of groups, as a JSON object: {\"Films\": \"films\"}; better in the file.",
        { $0.downloads.groups },
        apply: { json, settings in settings.server.placement.groups = try read { try PlacementRules.groups(json) } }
    )

    /// - Throws: ``Complaint`` with the sentence of a ``Problem``.
    private static func read<Read>(_ body: () throws -> Read) throws -> Read {
        do { return try body() } catch let problem as Problem { throw Complaint(problem.detail, .usage) }
    }
}
