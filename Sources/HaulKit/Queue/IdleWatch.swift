/// Checks whether all downloads or a group are idle, when ``IdleWatch`` asks.
protocol IdleWatchDelegate: AnyObject {
    /// Called when a download has started or ended.
    func mayBeIdle()
    /// Called when a download may have come to rest, while a call waits or a group is observed. The delegate then calls
    /// ``IdleWatch/beginLook()``.
    func lookWhoIsIdle()
}

/// The calls that wait until no download waits or runs, and the groups whose end is to be reported.
///
/// Confined to the actor of its downloader.
final class IdleWatch {
    struct Waiter {
        /// The group that the call waits for; `nil` for all downloads.
        let group: String?
        let continuation: CheckedContinuation<Result<DownloadSummary, DownloadError>, Never>
    }
    weak var delegate: (any IdleWatchDelegate)?
    private(set) var waiters: [Int: Waiter] = [:]
    /// Observed groups of which a download has come to rest since the last look.
    private var restedGroups: Set<String> = []
    private var isLooking = false
    /// Number of calls that add to a group or expect more downloads for the group, by group.
    private var additions: [String: Int] = [:]
    private var next = 0

    /// Checks whether all is idle now, and requests a look. Called after slots were granted, and when an addition or an
    /// expectation has ended.
    func changed() {
        delegate?.mayBeIdle()
        look()
    }

    /// Requests a look. One look covers all changes before it begins. Call this method whenever a download may have
    /// come to rest.
    func look() {
        guard !waiters.isEmpty || !restedGroups.isEmpty, !isLooking else { return }
        isLooking = true
        delegate?.lookWhoIsIdle()
    }

    /// Reports that a download of an observed group has come to rest.
    func groupMayRest(_ group: String) {
        restedGroups.insert(group)
        look()
    }

    /// Begins a look. A download that comes to rest from here on is covered by the next look.
    ///
    /// - Returns: the groups to look at.
    func beginLook() -> Set<String> {
        isLooking = false
        defer { restedGroups = [] }
        return restedGroups
    }

    /// Keeps the group for the next look, which follows when a download comes to rest or an addition ends.
    func keep(_ group: String) { restedGroups.insert(group) }

    // MARK: Adding

    func additionBegan(_ groups: Set<String>) {
        for group in groups { additions[group, default: 0] += 1 }
    }

    func additionEnded(_ groups: Set<String>) {
        for group in groups {
            guard let count = additions[group] else { continue }
            additions[group] = count > 1 ? count - 1 : nil
        }
    }

    /// Whether a call is adding to the group, or expects more downloads for it.
    func isAdding(to group: String) -> Bool { additions[group] != nil }
    var isAddingToAnyGroup: Bool { !additions.isEmpty }

    // MARK: Waiting

    func number() -> Int {
        next += 1
        return next
    }

    func wait(_ number: Int, _ waiter: Waiter) {
        waiters[number] = waiter
        look()
    }

    func stopWaiting(_ number: Int, _ error: DownloadError) {
        waiters.removeValue(forKey: number)?.continuation.resume(returning: .failure(error))
    }

    func resume(_ group: String?, _ result: Result<DownloadSummary, DownloadError>) {
        for (number, waiter) in waiters where waiter.group == group {
            waiters[number] = nil
            waiter.continuation.resume(returning: result)
        }
    }

    func giveUp(_ error: DownloadError) {
        for waiter in waiters.values { waiter.continuation.resume(returning: .failure(error)) }
        waiters = [:]
    }
}
