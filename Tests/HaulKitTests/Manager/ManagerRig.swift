import Foundation
import HaulTesting
import Testing

@testable import HaulKit

/// Many small downloads over a real server. The ones whose path begins with `/slow` stand still after their first bytes until the
/// test lets go of them by pausing or cancelling; those with `/missing` are answered 404.
enum ManagerRig {
    static let content = TestContent(seed: 77, count: 70_000)

    static func run(
        configure: (inout Downloader.Configuration) throws -> Void = { _ in },
        _ test: (FaultRig) async throws -> Void
    ) async throws {
        let resource = content.resource()
        let slow = resource.silent(after: 1000)
        try await FaultRig.run(
            configure: { configuration in
                configuration.storage.restoration = .everything
                try configure(&configuration)
            },
            serving: { request in
                if request.target.hasPrefix("/missing") { return .empty(404, "Not Found") }
                return request.target.hasPrefix("/slow") ? slow.reply(to: request) : resource.reply(to: request)
            },
            test
        )
    }
}

extension FaultRig {
    /// A request for a file of its own name.
    func named(
        _ name: String,
        _ kind: String = "fast",
        _ change: (inout DownloadRequest) -> Void = { _ in }
    ) throws -> DownloadRequest {
        try request("/\(kind)/\(name)") { request in
            request.destination = .file(path: "\(folder)/\(name)")
            change(&request)
        }
    }

    /// Shuts the downloader down and opens another over the same store.
    func reopened(
        _ configuration: Downloader.Configuration? = nil,
        _ test: (Downloader) async throws -> Void
    ) async throws {
        await downloader.shutDown()
        let next = try await Downloader(configuration ?? self.configuration)
        var failure: (any Error)?
        do { try await test(next) } catch { failure = error }
        await next.shutDown()
        if let failure { throw failure }
    }
}

extension Downloader {
    /// What limits all downloads together.
    var limiter: RateLimiter { engine.speed.limiter }
    var watchesNetwork: Bool { engine.environment.conditions.networkMonitor != nil }
    var presentTimetable: Timetable? { engine.environment.conditions.timetable }
    var hasNoneThatWaitsForSpace: Bool { space.isEmpty }
    var quotaInUse: Int64 { space.usedBytes }
    var conditions: RunConditions { engine.environment.conditions.conditions }
    /// Calls that wait until downloads are idle.
    var waitingCalls: Int { scheduler.idle.waiters.count }

    /// Returns when every report that needs a look-up has been made.
    func hasReported() async { await notifications.finish() }

    /// As long as it has not ended, a call is adding to these groups.
    func additionBegan(_ groups: Set<String>) { idle.additionBegan(groups) }
    func additionEnded(_ groups: Set<String>) { idle.additionEnded(groups) }
}
