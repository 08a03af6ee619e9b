/// Lists the downloads that wait for disk space or quota, and selects those that may resume. While the list is not
/// empty, `SpaceMonitor` queries it once a second.
struct DiskSpaceWaitList: Sendable {
    struct Waiter: Sendable, Equatable {
        let id: DownloadID
        var reason: HoldReason
        /// Folder of the partial file; before the file exists, the folder where it will be created.
        var folder: String
        /// Missing bytes; `nil` while the length is unknown.
        var needed: Int64?
        var priority: Int
        var position: Int64
        var since: Instant
        /// Whether a check found too little space for this download. If so, the download resumes as soon as there is
        /// enough space, without the wait of `patience(_:)`.
        var isShort = false
    }

    /// Free space of the disks and of the quota at one moment.
    struct Supply: Sendable {
        var rule: SpaceRule
        /// Space by folder. A folder is missing if its file system does not report its space.
        var disks: [String: VolumeSpace]
        /// Remaining bytes of the quota, and the whole quota; `nil` until the usage has been counted.
        var quota: (left: Int64, whole: Int64)?
    }

    private var waiters: [DownloadID: Waiter] = [:]
    private var counts: [String: Int] = [:]
    /// Number of consecutive times that a download resumed because space was reported, and then found none.
    private var surprises: [DownloadID: Int] = [:]
    /// The most recent reading of free space, with its folder.
    private var seen: (folder: String, available: Int64, at: Instant)?

    var isEmpty: Bool { waiters.isEmpty }
    var count: Int { waiters.count }
    var ids: some Sequence<DownloadID> { waiters.keys }
    var folders: [String] { Array(counts.keys) }
    var waitsForQuota: Bool { waiters.values.contains { $0.reason == .quota } }

    func holds(_ id: DownloadID) -> Bool { waiters[id] != nil }
    func isWaiting(in folder: String) -> Bool { counts[folder] != nil }

    mutating func add(_ waiter: Waiter) {
        forget(waiter.id)
        waiters[waiter.id] = waiter
        counts[waiter.folder, default: 0] += 1
    }

    mutating func forget(_ id: DownloadID) {
        guard let waiter = waiters.removeValue(forKey: id) else { return }
        counts[waiter.folder, default: 0] -= 1
        if counts[waiter.folder] == 0 { counts[waiter.folder] = nil }
    }

    mutating func forget(_ ids: [DownloadID]) {
        guard !waiters.isEmpty else { return }
        for id in ids { forget(id) }
    }

    /// Forgets the failed resumes of a download that has ended.
    mutating func forgetSurprises(_ id: DownloadID) {
        if !surprises.isEmpty { surprises[id] = nil }
    }

    // MARK: Which may resume

    /// Returns the downloads for which there is space, in the order of the queue. They stay in the list until
    /// `forget(_:)`.
    ///
    /// Each returned download reduces the space for the next ones. A large file for which the space is too small does
    /// not block smaller ones behind it.
    mutating func ready(_ supply: Supply, at now: Instant) -> [Waiter] {
        var candidates: [Waiter] = []
        for (id, waiter) in waiters {
            if let (_, space, least) = space(for: waiter, supply), space < max(waiter.needed ?? least, 1) {
                waiters[id]?.isShort = true
            } else if waiter.isShort || now - waiter.since >= Self.patience(surprises[id] ?? 0) {
                candidates.append(waiter)
            }
        }
        candidates.sort {
            if $0.priority != $1.priority { return $0.priority > $1.priority }
            return ($0.position, $0.id.description) < ($1.position, $1.id.description)
        }
        var taken: [Pot: Int64] = [:]
        var ready: [Waiter] = []
        for waiter in candidates {
            if let (pot, space, least) = space(for: waiter, supply) {
                let needed = max(waiter.needed ?? least, 1)
                let left = space - taken[pot, default: 0]
                guard left >= needed else {
                    waiters[waiter.id]?.isShort = true
                    continue
                }
                taken[pot, default: 0] += needed
            }
            surprises[waiter.id] = waiter.isShort ? nil : (surprises[waiter.id] ?? 0) + 1
            ready.append(waiter)
        }
        return ready
    }

    private enum Pot: Hashable { case volume(UInt64), quota }

    /// Returns the space for a download, and the least space that is worth an attempt while its length is unknown.
    /// Returns `nil` if the space is unknown.
    private func space(for waiter: Waiter, _ supply: Supply) -> (Pot, space: Int64, least: Int64)? {
        if waiter.reason == .quota {
            return supply.quota.map { (.quota, $0.left, SpaceRule.leastSpace(of: $0.whole)) }
        }
        return supply.disks[waiter.folder].map {
            (.volume($0.volume), supply.rule.available(in: $0), SpaceRule.leastSpace(of: $0.total))
        }
    }

    /// Returns how long a download waits after `surprises` failed resumes: 2, 4, 8 … 256 seconds.
    ///
    /// A disk may be full without reporting it, because of a user's quota or because it has no inodes left.
    static func patience(_ surprises: Int) -> Duration {
        surprises == 0 ? .zero : Backoff(base: .seconds(2), cap: .seconds(256)).bound(failures: surprises)
    }

    // MARK: Plenty

    mutating func note(_ available: Int64, in folder: String, at now: Instant) { seen = (folder, available, now) }

    /// Whether a reading of the last second showed at least `plenty` bytes, so that small files need not check.
    func hasPlenty(in folder: String, at now: Instant) -> Bool {
        guard let seen, seen.folder == folder else { return false }
        return seen.available >= Self.plenty && now - seen.at < .seconds(1)
    }

    static let plenty: Int64 = 64 << 20
}
