internal import HTTPTypes
package import HaulKit
internal import Synchronization

/// The server's configuration, parts of which may change while the server runs: by a reload, or over the API.
package final class LiveConfiguration: Sendable {
    private struct Present {
        /// The configuration with which the server was started, with the changes of reloads.
        var start: ServerConfiguration
        var changed: ChangedSettings
        var folders: AllowedFolders

        init(_ start: ServerConfiguration, _ changed: ChangedSettings) {
            (self.start, self.changed) = (start, changed)
            let allowed = start.allowedFolders
            // Falls back to the configured folder if the changed folder is no longer below a root.
            folders = changed.folder.flatMap { allowed.preferring($0) } ?? allowed
        }
    }

    private let present: Mutex<Present>

    package init(_ configuration: ServerConfiguration, _ changed: ChangedSettings = ChangedSettings()) {
        present = Mutex(Present(configuration, changed))
    }

    package var configuration: ServerConfiguration { present.withLock { $0.start } }
    package var changed: ChangedSettings { present.withLock { $0.changed } }
    package var folders: AllowedFolders { present.withLock { $0.folders } }

    /// The rules and the folders of groups at present.
    package var placement: PlacementRules {
        present.withLock { present in
            PlacementRules(
                rules: present.changed.rules ?? present.start.placement.rules,
                groups: present.changed.groups ?? present.start.placement.groups
            )
        }
    }

    /// `User-Agent` of downloads at present.
    package var userAgent: String { present.withLock { $0.changed.userAgent ?? $0.start.userAgent } }

    /// Proxy of downloads at present, in the form of ``ServerConfiguration/proxy``. May have a password.
    package var proxy: String { present.withLock { $0.changed.proxy ?? $0.start.proxy } }

    /// Returns a closure that sets `User-Agent` and proxies of the downloader's requests.
    ///
    /// - Throws: ``DownloadError`` if the proxy is invalid.
    package func networkChange() throws(DownloadError) -> @Sendable (inout Downloader.Configuration) -> Void {
        let (proxies, userAgent) = (try ProxyText.settings(proxy, configuration.environmentProxies), userAgent)
        return { configuration in
            configuration.network.proxies = proxies
            configuration.network.userAgent = userAgent
        }
    }

    /// Applies the settings that may change without a restart: roots, hosts, proxies, rules, groups, `User-Agent`, the
    /// number of event streams, and whether unfinished files can be played.
    package func update(_ new: ServerConfiguration) {
        present.withLock { present in
            var configuration = present.start
            configuration.roots = new.roots
            configuration.allowedHosts = new.allowedHosts
            configuration.trustedProxies = new.trustedProxies
            configuration.maxEventStreams = new.maxEventStreams
            configuration.playsUnfinished = new.playsUnfinished
            configuration.placement = new.placement
            (configuration.userAgent, configuration.proxy) = (new.userAgent, new.proxy)
            present = Present(configuration, present.changed)
        }
    }

    /// Applies settings that were changed over the API.
    func update(_ changed: ChangedSettings) { present.withLock { $0 = Present($0.start, changed) } }
}

/// Changes settings over the API, one change after the other.
package actor SettingsKeeper {
    private let live: LiveConfiguration

    package init(_ live: LiveConfiguration) { self.live = live }

    /// Saves the changed settings, and then applies them to ``LiveConfiguration``.
    ///
    /// - Throws: the error of `change`, or ``Problem`` if the settings cannot be saved. In both cases, no setting
    ///   has changed.
    func change(_ change: @Sendable (inout ChangedSettings) throws(Problem) -> Void) throws(Problem) {
        var changed = live.changed
        try change(&changed)
        guard changed != live.changed else { return }
        try changed.save(stateFolder: live.configuration.stateFolder)
        live.update(changed)
    }
}
