package import HaulKit

extension Aria2Session {
    /// The session of a daemon: files stay in its folders, its store is the session that is saved, and its own number of connections
    /// applies where a client names none.
    ///
    /// - Parameter onShutdown: a client has asked for the end of the daemon.
    package init(
        _ downloader: Downloader,
        serving server: HaulServer,
        folder: String,
        onShutdown: @escaping @Sendable () -> Void
    ) {
        var configuration = Aria2Configuration()
        configuration.roots = { [weak server] in server?.folders ?? AllowedFolders(folder: folder, roots: []) }
        configuration.isPersistent = true
        configuration.onShutdown = { _ in onShutdown() }
        self.init(downloader, global: Self.daemonOptions(folder), configuration: configuration)
    }

    private static func daemonOptions(_ folder: String) -> Aria2Options {
        var options = Aria2Options()
        let values = ["dir": folder, "split": "16", "max-connection-per-server": "16", "min-split-size": "1048576"]
        // Values that these options take.
        for (name, value) in values { try? options.set(name, value) }
        return options
    }
}
