@testable import HaulCore
@testable import HaulKit

extension Downloader {
    /// The rate limiter of all downloads together.
    var limiter: RateLimiter { engine.speed.limiter }
    var watchesNetwork: Bool { engine.environment.conditions.networkMonitor != nil }
    var presentTimetable: Timetable? { engine.environment.conditions.timetable }
    var hasNoneThatWaitsForSpace: Bool { space.isEmpty }
    var quotaInUse: Int64 { space.usedBytes }
    var conditions: RunConditions { engine.environment.conditions.conditions }
    /// Number of calls that wait until downloads are idle.
    var waitingCalls: Int { scheduler.idle.waiters.count }

    /// Returns when every report that needs a lookup has been made.
    func hasReported() async { await notifications.finish() }

    /// Notes that a call adds to these groups, until `additionEnded`.
    func additionBegan(_ groups: Set<String>) { idle.additionBegan(groups) }
    func additionEnded(_ groups: Set<String>) { idle.additionEnded(groups) }
}
