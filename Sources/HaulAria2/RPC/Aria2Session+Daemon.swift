package import HaulKit
package import HaulServer

extension Aria2Session {
    /// Creates the session of a daemon. Files stay in the daemon's folders, and its store replaces the session file. A
    /// download has up to 16 connections unless a client or a rule sets their number.
    ///
    /// - Parameter onShutdown: called when a client requests the shut-down of the daemon.
    package init(
        _ downloader: Downloader,
        serving server: HaulServer,
        folder: String,
        onShutdown: @escaping @Sendable () -> Void
    ) {
        var configuration = Aria2Configuration()
        configuration.roots = { [weak server] in server?.folders ?? AllowedFolders(folder: folder, roots: []) }
        configuration.placement = { [weak server] url, name throws(Problem) in
            try server?.placement(of: url, name: name)
        }
        configuration.folder = folder
        configuration.isPersistent = true
        configuration.onShutdown = { _ in onShutdown() }
        self.init(downloader, global: Self.daemonOptions(folder), configuration: configuration)
    }

    private static func daemonOptions(_ folder: String) -> Aria2Options {
        var options = Aria2Options()
        let values = ["dir": folder, "split": "16", "max-connection-per-server": "16", "min-split-size": "1048576"]
        // These values are valid for these options, so `set` does not throw.
        for (name, value) in values { try? options.set(name, value) }
        return options
    }
}
