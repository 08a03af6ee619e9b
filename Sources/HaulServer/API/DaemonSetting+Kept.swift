internal import HTTPTypes
internal import HaulKit

/// Settings of the server, kept in ``ChangedSettings`` and not in the downloader's configuration.
extension DaemonSetting {
    static let folder = DaemonSetting(
        "folder",
        .kept(type: "string", value: { .string($0.folders.fallback) }) { value, live in
            guard let value else { return { $0.folder = nil } }
            let folder = try live.folders.folder(try text(value, "folder", upTo: 4095))
            return { $0.folder = folder }
        },
        "Folder for downloads that name none, below an allowed root; empty for that of --directory."
    )

    static let userAgent = DaemonSetting(
        "userAgent",
        .kept(type: "string", value: { .string($0.userAgent) }) { value, _ in
            guard let value else { return { $0.userAgent = nil } }
            let text = try text(value, "userAgent", upTo: 1024)
            guard HeaderField("User-Agent", text) != nil else {
                throw Problem.invalidField("userAgent has characters that HTTP does not allow.")
            }
            return { $0.userAgent = text }
        },
        "User-Agent of requests from now on; empty for that of the start. Headers of a download take precedence."
    )

    static let proxy = DaemonSetting(
        "proxy",
        .kept(type: "string", value: { .string(ProxyText.masked($0.proxy)) }) { value, _ in
            guard let value else { return { $0.proxy = nil } }
            let text = try text(value, "proxy", upTo: 1024)
            // Refuses a masked proxy. Replacing the mask by the stored password could send the password to another
            // proxy.
            guard !text.contains(ProxyText.hidden) else {
                throw Problem.invalidField("proxy has a hidden password. Write the proxy with its password.")
            }
            do throws(DownloadError) { _ = try ProxyText.settings(text, nil) } catch {
                throw Problem.invalidField("proxy: \(error.message)")
            }
            return { $0.proxy = text }
        },
        """
        Proxy of requests from now on: http://host:port or socks5://host:port, direct for none; empty for that of the \
        start. User name and password are never shown.
        """
    )

    static let rules = DaemonSetting(
        "rules",
        .kept(type: "array", value: { .array($0.placement.rules.map(\.json)) }) { value, live in
            guard let value else { return { $0.rules = nil } }
            let rules = try PlacementRules.rules(value)
            try PlacementRules(rules: rules).check(live.folders)
            return { $0.rules = rules }
        },
        """
        Rules for new downloads, in their order: hosts, extensions, types; folder, group, connections. Each of folder, \
        group and connections comes from the first rule that applies and has it. What a request asks for takes \
        precedence.
        """
    )

    static let groups = DaemonSetting(
        "groups",
        .kept(
            type: "object",
            value: { .object($0.placement.groups.mapValues { .string($0) }) },
            change: { value, live in
                guard let value else { return { $0.groups = nil } }
                let groups = try PlacementRules.groups(value)
                try PlacementRules(groups: groups).check(live.folders)
                return { $0.groups = groups }
            }
        ),
        "Folder for the downloads of a group that name no folder, for each name of a group."
    )

    private static func text(_ value: JSONValue, _ name: String, upTo limit: Int) throws(Problem) -> String {
        guard case .string(let text) = value else { throw Problem.invalidField("\(name) must be a text.") }
        if let problem = JSONBody.problem(of: text, name, upTo: limit) { throw problem }
        return text
    }
}
