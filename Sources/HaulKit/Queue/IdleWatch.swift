/// Looks whether everything is idle, when it may be.
protocol IdleWatchDelegate: AnyObject {
    /// Something has started or ended.
    func mayBeIdle()
    /// Somebody waits, and something may have come to rest.
    func lookWhoIsIdle()
}

/// The calls that wait until no download waits or runs, and the groups of which the end is to be reported.
///
/// Confined to the actor of its downloader.
final class IdleWatch {
    struct Waiter {
        /// Nil for all downloads.
        let group: String?
        let continuation: CheckedContinuation<Result<DownloadSummary, DownloadError>, Never>
    }
    weak var delegate: (any IdleWatchDelegate)?
    private(set) var waiters: [Int: Waiter] = [:]
    /// Groups that are listened to, and of which something has come to rest since they were looked at.
    private var restedGroups: Set<String> = []
    private var isLooking = false
    /// Groups that calls under way add to, or that more is expected for, each with the number of these calls.
    private var additions: [String: Int] = [:]
    private var next = 0

    /// Something has started or ended.
    func changed() {
        delegate?.mayBeIdle()
        look()
    }

    /// To be called whenever something may have come to rest: looks once for all that comes until it is looked at.
    func look() {
        guard !waiters.isEmpty || !restedGroups.isEmpty, !isLooking else { return }
        isLooking = true
        delegate?.lookWhoIsIdle()
    }

    /// A download of a group that is listened to has come to rest.
    func groupMayRest(_ group: String) {
        restedGroups.insert(group)
        look()
    }

    /// The look has begun: what comes to rest from here on is looked at by the next.
    ///
    /// - Returns: the groups to look at.
    func beginLook() -> Set<String> {
        isLooking = false
        defer { restedGroups = [] }
        return restedGroups
    }

    /// The group is looked at again when the next download comes to rest.
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

    /// Whether a call is adding to the group, or more is expected for it.
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
