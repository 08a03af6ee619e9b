internal import Synchronization

/// The server's configuration, parts of which may change while the server runs.
package final class LiveConfiguration: Sendable {
    private let present: Mutex<(ServerConfiguration, AllowedFolders)>

    package init(_ configuration: ServerConfiguration) {
        present = Mutex((configuration, Self.folders(configuration)))
    }

    package var configuration: ServerConfiguration { present.withLock { $0.0 } }
    package var folders: AllowedFolders { present.withLock { $0.1 } }

    /// Applies the settings that may change without a restart: roots, hosts, proxies, the number of event streams, and
    /// whether unfinished files can be played.
    package func update(_ new: ServerConfiguration) {
        present.withLock { present in
            var configuration = present.0
            configuration.roots = new.roots
            configuration.allowedHosts = new.allowedHosts
            configuration.trustedProxies = new.trustedProxies
            configuration.maxEventStreams = new.maxEventStreams
            configuration.playsUnfinished = new.playsUnfinished
            present = (configuration, Self.folders(configuration))
        }
    }

    private static func folders(_ configuration: ServerConfiguration) -> AllowedFolders {
        AllowedFolders(folder: configuration.folder, roots: configuration.roots)
    }
}
