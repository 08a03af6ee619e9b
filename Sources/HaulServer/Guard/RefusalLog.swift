internal import Logging
internal import Synchronization

/// Logs refused requests. Anybody can send any number of them, so only the first ones of each minute get a line of their
/// own, and the next line says how many others there were.
final class RefusalLog: Sendable {
    private struct Minute {
        var begin: ContinuousClock.Instant
        var count = 0
    }

    private static let mostOfAMinute = 20

    private let logger: Logger
    private let now: @Sendable () -> ContinuousClock.Instant
    private let minute: Mutex<Minute>

    init(_ logger: Logger, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
        (self.logger, self.now) = (logger, now)
        minute = Mutex(Minute(begin: now()))
    }

    func note(_ problem: Problem) {
        let now = now()
        let (isLogged, others) = minute.withLock { minute in
            var others = 0
            if now - minute.begin >= .seconds(60) {
                others = max(0, minute.count - Self.mostOfAMinute)
                minute = Minute(begin: now)
            }
            minute.count += 1
            return (minute.count <= Self.mostOfAMinute, others)
        }
        if others > 0 { logger.notice("refused: \(others) more requests.") }
        if isLogged {
            logger.notice("refused: \([problem.detail, problem.suggestion].compactMap(\.self).joined(separator: " "))")
        }
    }
}
