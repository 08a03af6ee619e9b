internal import Foundation
internal import HaulKit
internal import Hummingbird

/// Route that identifies the daemon. A command that needs the daemon of a certain state folder requests this route
/// first, and sends nothing else if another daemon answers.
struct DaemonRoute {
    let services: Services

    func add(to routes: RouteTable) {
        routes.get("/api/v1/daemon") { _, _ in
            let notice = StoreNotice(services.downloader)
            return JSONBody.response(
                DaemonIdentity(
                    stateFolder: services.configuration.stateFolder,
                    process: ProcessInfo.processInfo.processIdentifier,
                    version: Downloader.version,
                    storeNotice: notice?.text,
                    storeNoticeCode: notice?.code
                )
            )
        }
    }
}

/// The answer to `GET /api/v1/daemon`.
package struct DaemonIdentity: Codable, Hashable, Sendable {
    /// Absolute path of the folder of the daemon's token, sessions and lock.
    package var stateFolder: String
    /// Process id of the daemon.
    package var process: Int32
    package var version: String
    /// See ``Totals/storeNotice``.
    package var storeNotice: String?
    /// See ``Totals/storeNoticeCode``.
    package var storeNoticeCode: StoreNotice.Code?
}
