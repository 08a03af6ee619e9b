import Testing

@testable import HaulCore

/// Compares random histories of a queue with a simple model, step by step, and checks rules that hold for any history.
struct DownloadQueueHistoryTests {
    @Test(arguments: 0..<300 as Range<UInt64>)
    func doesWhatThePlainModelDoes(_ seed: UInt64) {
        var history = History(seed)
        for step in 0..<300 {
            guard history.step() else {
                Issue.record("seed \(seed), step \(step): \(history.complaints.joined(separator: "; "))")
                return
            }
        }
    }

    private struct History {
        private var random: SplitMix64
        private var queue: DownloadQueue
        private var model: DownloadQueueModel
        private var now = Instant.start
        private let ids: [DownloadID]
        private let hosts: Int
        private var items: [DownloadID: DownloadQueue.Item] = [:]
        private var urged: Set<DownloadID> = []
        /// The last start at each host, and the smallest spacing in effect since.
        private var starts: [String: (at: Instant, spacing: Duration)] = [:]
        private(set) var complaints: [String] = []

        init(_ seed: UInt64) {
            var random = SplitMix64(seed: seed)
            hosts = [1, 2, 5, 40][Int(seed % 4)]
            ids = (0..<[8, 30, 60][Int(seed % 3)]).map { _ in DownloadID(&random) }
            let limits = Self.limits(&random)
            (queue, model) = (DownloadQueue(limits), DownloadQueueModel(limits))
            self.random = random
        }

        /// - Returns: `false` if a rule was violated.
        mutating func step() -> Bool {
            let id = ids[Int.random(in: 0..<ids.count, using: &random)]
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<35: enqueue(id)
            case 35..<45: change(id)
            case 45..<52:
                queue.urge(id)
                model.urge(id)
                if items[id] != nil { urged.insert(id) }
            case 52..<62: leave(id)
            case 62..<70:
                if let one = model.running.randomElement(using: &random) { leave(one.id) }
            case 70..<75: changeLimits()
            case 75..<78:
                queue.isShut.toggle()
                model.isShut.toggle()
            case 78..<79: removeAllWaiting()
            case 79..<87:
                if let one = model.running.randomElement(using: &random) { backOff(one.id) }
            case 87..<90: backOff(id)
            default: now = now + .milliseconds(Int.random(in: 0...1500, using: &random))
            }
            if Int.random(in: 0..<3, using: &random) > 0 { grant() }
            compare()
            return complaints.isEmpty
        }

        private mutating func enqueue(_ id: DownloadID) {
            let item = DownloadQueue.Item(
                id: id,
                host: "host \(Int.random(in: 0..<hosts, using: &random))",
                priority: Int.random(in: -1...2, using: &random),
                position: Int64.random(in: 0..<50, using: &random)
            )
            queue.enqueue(item)
            model.enqueue(item)
            if items[id] == nil { items[id] = item }
        }

        private mutating func change(_ id: DownloadID) {
            let priority = Int.random(in: -1...2, using: &random)
            let position = Int64.random(in: 0..<50, using: &random)
            queue.change(id, priority: priority, position: position)
            model.change(id, priority: priority, position: position)
            guard !urged.contains(id) else { return }
            items[id]?.priority = priority
            items[id]?.position = position
        }

        private mutating func leave(_ id: DownloadID) {
            queue.leave(id)
            model.leave(id)
            forget(id)
        }

        private mutating func backOff(_ id: DownloadID) {
            let expected = model.backOff(id)
            if queue.backOff(id) != expected { complain("\(id) backs off against the limit, or does not") }
        }

        private mutating func forget(_ id: DownloadID) {
            items[id] = nil
            urged.remove(id)
        }

        private mutating func removeAllWaiting() {
            for member in model.waiting { forget(member.id) }
            queue.removeAllWaiting()
            model.removeAllWaiting()
        }

        private mutating func changeLimits() {
            let limits = Self.limits(&random)
            queue.limits = limits
            model.limits = limits
            starts = starts.mapValues { ($0.at, min($0.spacing, limits.hostSpacing)) }
        }

        private static func limits(_ random: inout SplitMix64) -> DownloadQueue.Limits {
            .init(
                active: Int.random(in: 0...8, using: &random),
                activePerHost: Bool.random(using: &random) ? Int.random(in: 0...3, using: &random) : nil,
                hostSpacing: Bool.random(using: &random)
                    ? .milliseconds(Int.random(in: 1...3000, using: &random)) : .zero,
                preempts: Bool.random(using: &random),
                backingOff: [0, 2, 20, 1024].randomElement(using: &random) ?? 1024
            )
        }

        private mutating func grant() {
            let before = model.running.count
            let expected = model.grant(at: now)
            let (granted, withdrawn) = queue.grant(at: now)
            if granted != expected.granted { complain("granted \(granted) rather than \(expected.granted)") }
            if withdrawn != expected.withdrawn { complain("withdrew \(withdrawn) rather than \(expected.withdrawn)") }
            if queue.isShut, !granted.isEmpty { complain("granted while shut") }
            if !Set(granted).isDisjoint(with: withdrawn) { complain("granted and withdrew the same") }
            checkLimits(granted, withdrawn, before: before)
            checkOrder(granted)
            checkNothingIsIdle()
            checkTimer()
        }

        private mutating func checkLimits(_ granted: [DownloadID], _ withdrawn: [DownloadID], before: Int) {
            let limits = queue.limits
            if queue.counts.running > max(1, limits.active, before) { complain("more run than may") }
            if !granted.isEmpty, queue.counts.running > max(1, limits.active) { complain("granted over the limit") }
            for id in granted {
                guard let item = items[id] else { return complain("granted \(id), which has left") }
                let there = queue.running.filter { items[$0]?.host == item.host }.count
                if there > max(1, limits.activePerHost ?? .max) { complain("too many at \(item.host)") }
                if let last = starts[item.host], now - last.at < last.spacing { complain("\(item.host) had no rest") }
                starts[item.host] = (now, limits.hostSpacing)
            }
            for id in withdrawn {
                if urged.contains(id) { complain("withdrew \(id), which is urged") }
                let isOutranked = granted.contains { granted in
                    guard let one = items[granted], let other = items[id] else { return false }
                    return urged.contains(granted) || limits.preempts && one.priority > other.priority
                }
                if !isOutranked { complain("withdrew \(id) for nobody") }
            }
        }

        /// Checks that no download is passed over by one of the same priority and host.
        private mutating func checkOrder(_ granted: [DownloadID]) {
            for id in granted where !urged.contains(id) {
                guard let item = items[id] else { continue }
                let passedOver = model.waiting.first {
                    $0.urge == nil && $0.item.host == item.host && $0.item.priority == item.priority
                        && $0.item.position < item.position
                }
                if let passedOver { complain("\(id) went ahead of \(passedOver.id)") }
            }
        }

        /// Checks that no slot stays free while a download could take it.
        private mutating func checkNothingIsIdle() {
            guard !queue.isShut, queue.counts.running < max(1, queue.limits.active) else { return }
            for member in model.waiting where !model.isBackedOff(member.item.host) {
                let host = member.item.host
                let there = queue.running.filter { items[$0]?.host == host }.count
                let hasRested = starts[host].map { now - $0.at >= max($0.spacing, queue.limits.hostSpacing) } ?? true
                if there < max(1, queue.limits.activePerHost ?? .max), hasRested { complain("\(member.id) sits idle") }
            }
        }

        /// Checks that the queue's timer is neither late nor missing, and has an effect if a slot is free.
        private mutating func checkTimer() {
            if let next = queue.nextGrant(after: now) {
                if next <= now { complain("asks for a grant that has just been") }
                var early = queue
                let justBefore = Instant(sinceStart: next.sinceStart - .nanoseconds(1))
                if early.grant(at: justBefore) != ([], []) { complain("could have granted before \(next)") }
                var (woken, wanted) = (queue, model)
                let isFree = queue.counts.running < max(1, queue.limits.active)
                let (granted, withdrawn) = woken.grant(at: next)
                if granted.isEmpty, isFree { complain("asks for a timer for nothing") }
                if (granted, withdrawn) != wanted.grant(at: next) { complain("grants others when the timer rings") }
            } else {
                var late = queue
                if late.grant(at: now + .seconds(3600)) != ([], []) { complain("forgot to ask for a timer") }
            }
        }

        private mutating func compare() {
            if queue.waitingCount != model.waiting.count { complain("\(queue.waitingCount) wait") }
            if Set(queue.running) != Set(model.running.map(\.id)) { complain("others run") }
            if Set(queue.allBackingOff) != Set(model.backingOff.map(\.id)) { complain("others back off") }
            let count = Int.random(in: 0...10, using: &random)
            let next = queue.next(count)
            if next.count != min(count, model.waiting.count) || !Set(next).isSubset(of: model.waiting.map(\.id))
                || Set(next).count != next.count
            {
                complain("looks ahead to \(next)")
            }
        }

        private mutating func complain(_ text: String) { complaints.append(text) }
    }
}
