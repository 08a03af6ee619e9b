import Foundation

@testable import HaulCore

/// A simple model of ``DownloadQueue``. It looks at all waiting and running downloads for every slot.
struct DownloadQueueModel {
    struct Member {
        var item: DownloadQueue.Item
        /// The order among the urged downloads; `nil` if the download was not urged.
        var urge: Int?

        var id: DownloadID { item.id }

        func isAhead(of other: Member) -> Bool {
            if urge != nil || other.urge != nil { return urge ?? .max < other.urge ?? .max }
            if item.priority != other.item.priority { return item.priority > other.item.priority }
            if item.position != other.item.position { return item.position < other.item.position }
            return item.id.rawValue < other.item.id.rawValue
        }
    }

    var limits: DownloadQueue.Limits
    var isShut = false
    private(set) var waiting: [Member] = []
    private(set) var running: [Member] = []
    private(set) var backingOff: [Member] = []
    /// The last start at each host whose spacing may still be in effect.
    private var starts: [String: Instant] = [:]
    private var urges = 0

    init(_ limits: DownloadQueue.Limits) { self.limits = limits }

    mutating func enqueue(_ item: DownloadQueue.Item) {
        guard !(waiting + running).contains(where: { $0.id == item.id }) else { return }
        waiting.append(backingOff.first { $0.id == item.id } ?? Member(item: item))
        backingOff.removeAll { $0.id == item.id }
    }

    mutating func backOff(_ id: DownloadID) -> Bool {
        guard backingOff.count < limits.backingOff, let member = running.first(where: { $0.id == id }) else {
            return false
        }
        backingOff.append(member)
        running.removeAll { $0.id == id }
        return true
    }

    mutating func change(_ id: DownloadID, priority: Int, position: Int64) {
        each(id) { member in
            guard member.urge == nil else { return }
            member.item.priority = priority
            member.item.position = position
        }
    }

    mutating func urge(_ id: DownloadID) {
        urges += 1
        each(id) { [urges] in $0.urge = $0.urge ?? urges }
    }

    mutating func leave(_ id: DownloadID) {
        waiting.removeAll { $0.id == id }
        running.removeAll { $0.id == id }
        backingOff.removeAll { $0.id == id }
    }

    mutating func removeAllWaiting() { waiting = [] }

    mutating func grant(at now: Instant) -> (granted: [DownloadID], withdrawn: [DownloadID]) {
        starts = starts.filter { $0.value + limits.hostSpacing > now }
        var (granted, withdrawn): ([DownloadID], [DownloadID]) = ([], [])
        while let (next, holder) = nextStart() {
            waiting.removeAll { $0.id == next.id }
            if let holder {
                running.removeAll { $0.id == holder.id }
                waiting.append(holder)
                withdrawn.append(holder.id)
            }
            running.append(next)
            granted.append(next.id)
            if limits.hostSpacing > .zero { starts[next.item.host] = now }
        }
        return (granted, withdrawn)
    }

    /// Returns the first waiting download that may start, and the one that gives up its slot for it.
    private func nextStart() -> (Member, holder: Member?)? {
        guard !isShut else { return nil }
        var best: (Member, holder: Member?)?
        for member in waiting where best.map({ member.isAhead(of: $0.0) }) ?? true {
            guard starts[member.item.host] == nil, let holder = holder(for: member) else { continue }
            best = (member, holder.member)
        }
        return best
    }

    /// - Returns: `nil` if `member` may not start.
    private func holder(for member: Member) -> (member: Member?, Void)? {
        let there = running.filter { $0.item.host == member.item.host }
        let (active, perHost) = (max(1, limits.active), max(1, limits.activePerHost ?? .max))
        guard !isBackedOff(member.item.host) else { return nil }
        guard running.count <= active, there.count <= perHost else { return nil }
        if running.count < active, there.count < perHost { return (nil, ()) }
        let holders = there.count == perHost ? there : running
        guard let last = holders.max(by: { $0.isAhead(of: $1) }), last.urge == nil else { return nil }
        if member.urge != nil { return (last, ()) }
        return limits.preempts && member.item.priority > last.item.priority ? (last, ()) : nil
    }

    func isBackedOff(_ host: String) -> Bool {
        backingOff.count { $0.item.host == host } >= max(DownloadQueue.mostBackingOffPerHost, limits.active)
    }

    private mutating func each(_ id: DownloadID, _ change: (inout Member) -> Void) {
        for index in waiting.indices where waiting[index].id == id { change(&waiting[index]) }
        for index in running.indices where running[index].id == id { change(&running[index]) }
        for index in backingOff.indices where backingOff[index].id == id { change(&backingOff[index]) }
    }
}

extension DownloadID {
    /// Makes a random ID, the same for the same seed.
    init(_ random: inout SplitMix64) {
        let (high, low) = (random.next(), random.next())
        let bytes = (0..<8).map { UInt8(truncatingIfNeeded: high >> ($0 * 8)) }
        let more = (0..<8).map { UInt8(truncatingIfNeeded: low >> ($0 * 8)) }
        self.init(
            rawValue: UUID(
                uuid: (
                    bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7],
                    more[0], more[1], more[2], more[3], more[4], more[5], more[6], more[7]
                )
            )
        )
    }
}
