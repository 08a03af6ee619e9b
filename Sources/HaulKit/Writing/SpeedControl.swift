/// The speed of all downloads together: what the application allows, and what the hours do.
///
/// Confined to the actor of its downloader.
final class SpeedControl {
    /// Each download has a limiter of its own below it.
    let limiter: RateLimiter
    /// What the application allows, in bytes per second; nil for any speed.
    var ownLimit: Int64?

    init(_ bytesPerSecond: Int64?, time: EngineClock) {
        ownLimit = bytesPerSecond
        limiter = RateLimiter(bytesPerSecond, now: time.now)
    }

    /// Sets the lower of two limits: that of the application, and this one.
    func limit(_ bytesPerSecond: Int64?) {
        limiter.bytesPerSecond = [ownLimit, bytesPerSecond].compactMap(\.self).filter { $0 > 0 }.min()
    }
}
