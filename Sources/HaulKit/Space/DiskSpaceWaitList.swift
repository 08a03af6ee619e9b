/// The downloads that wait for disk space, and which of them may resume. Asked once a second while there are any.
struct DiskSpaceWaitList: Sendable {
    struct Waiter: Sendable, Equatable {
        let id: DownloadID
        var reason: HoldReason
        /// Where its file lies, or is to lie.
        var folder: String
        /// Bytes that are missing; nil while the length is unknown.
        var needed: Int64?
        var priority: Int
        var position: Int64
        var since: Instant
        /// It was seen that there is no space: once there is, that is news.
        var isShort = false
    }

    /// What is to be had now.
    struct Supply: Sendable {
        var rule: SpaceRule
        /// By folder; one that does not say is missing.
        var disks: [String: VolumeSpace]
        /// Bytes of the quota that are left, and the whole of it; nil until it has been counted.
        var quota: (left: Int64, whole: Int64)?
    }

    private var waiters: [DownloadID: Waiter] = [:]
    private var counts: [String: Int] = [:]
    /// Times in a row that a download found no space where there seemed to be some.
    private var surprises: [DownloadID: Int] = [:]
    /// The last that was seen of a disk.
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

    /// The download has ended: what surprised it is past.
    mutating func forgetSurprises(_ id: DownloadID) {
        if !surprises.isEmpty { surprises[id] = nil }
    }

    // MARK: Which may resume

    /// Those for which there is space, in the order of the queue. They stay in the list until they are forgotten.
    ///
    /// What one takes the next does not get. A large file does not keep smaller ones behind it from what is too little for it.
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

    /// What there is for a download, and what is worth an attempt where its need is unknown; nil when that is unknown.
    private func space(for waiter: Waiter, _ supply: Supply) -> (Pot, space: Int64, least: Int64)? {
        if waiter.reason == .quota {
            return supply.quota.map { (.quota, $0.left, SpaceRule.leastSpace(of: $0.whole)) }
        }
        return supply.disks[waiter.folder].map {
            (.volume($0.volume), supply.rule.available(in: $0), SpaceRule.leastSpace(of: $0.total))
        }
    }

    /// Some disks are full in ways that they do not show: a user's quota, no more inodes. Those are tried again and again, at
    /// growing distances: after 2, 4, 8 … 256 seconds.
    static func patience(_ surprises: Int) -> Duration {
        surprises == 0 ? .zero : .seconds(1 << min(surprises, 8))
    }

    // MARK: Plenty

    mutating func note(_ available: Int64, in folder: String, at now: Instant) { seen = (folder, available, now) }

    /// Whether so much space was seen a moment ago that small files need not ask.
    func hasPlenty(in folder: String, at now: Instant) -> Bool {
        guard let seen, seen.folder == folder else { return false }
        return seen.available >= Self.plenty && now - seen.at < .seconds(1)
    }

    static let plenty: Int64 = 64 << 20
}
