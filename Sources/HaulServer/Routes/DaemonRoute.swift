internal import Foundation
internal import HaulKit
internal import Hummingbird

/// Whose daemon answers: commands that look for another one leave it alone.
struct DaemonRoute {
    let services: Services

    func add(to router: Router<ServerContext>) {
        router.get("/api/v1/daemon") { _, _ in
            JSONBody.response(
                DaemonIdentity(
                    stateFolder: services.configuration.stateFolder,
                    process: ProcessInfo.processInfo.processIdentifier,
                    version: Downloader.version,
                    storeNotice: services.downloader.storeNotice
                )
            )
        }
    }
}

/// What a daemon says of itself.
package struct DaemonIdentity: Codable, Hashable, Sendable {
    /// Absolute path of the folder of its token, its sessions and its lock.
    package var stateFolder: String
    /// Number of its process.
    package var process: Int32
    package var version: String
    /// As ``Totals/storeNotice``.
    package var storeNotice: String?
}
