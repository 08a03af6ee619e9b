/// Number of downloads that end per second.
struct EndRate: Sendable, Equatable {
    private var began = Duration.zero
    private var count = 0
    private var last = 0

    /// Ends in the previous second, or in the current one if these are more.
    var perSecond: Int { max(count, last) }

    mutating func noteEnd(at now: Duration) {
        if now >= began + .seconds(1) {
            last = now < began + .seconds(2) ? count : 0
            (began, count) = (now, 0)
        }
        count += 1
    }
}
