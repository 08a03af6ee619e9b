/// Handing out the slots.
extension DownloadQueue {
    /// Hands out the slots that are free at `now`, and those that are taken from downloads of lower priority.
    ///
    /// - Returns: those that may start, in the order of the line, and those that must stop for them. The latter are
    ///   back in the line, at their own positions, when this returns.
    mutating func grant(at now: Instant) -> (granted: [DownloadID], withdrawn: [DownloadID]) {
        load(at: now)
        var (granted, withdrawn): ([DownloadID], [DownloadID]) = ([], [])
        // Where more run than may, one that stops leaves no slot.
        if isShut, servesThisMachine { return (grantHere(at: now), []) }
        while !isShut, underWay.count <= mostActive, let host = open.first, let first = hosts[host].line.first {
            if let last = holderOfSlot(at: host) {
                guard takesSlot(first, from: last) else { break }
                withdrawn.append(withdraw(last))
            }
            granted.append(start(at: host, first, now))
        }
        return (granted, withdrawn)
    }

    /// What this machine itself has needs no network; it waits for a free slot like any other, and takes none away.
    private mutating func grantHere(at now: Instant) -> [DownloadID] {
        var granted: [DownloadID] = []
        while underWay.count < mostActive,
            let host = open.numbers
                .filter({ holderOfSlot(at: $0) == nil && NetworkStatus.isThisMachine(hosts.name($0)) })
                .min(by: { Self.startsBefore($0, $1, hosts, waiting) }),
            let first = hosts[host].line.first
        { granted.append(start(at: host, first, now)) }
        return granted
    }

    /// When the queue is to be asked again because a host has rested, if until then nothing else happens; nil when no
    /// download waits for that alone.
    func nextGrant(after now: Instant) -> Instant? {
        guard !isShut, underWay.count <= mostActive, let host = waking.first, let startedAt = busy[host]?.startedAt
        else { return nil }
        if underWay.count == mostActive {
            guard let first = closed.first.flatMap({ hosts[$0].line.first }), let last = lastOfAll,
                takesSlot(first, from: last)
            else { return nil }
        }
        return max(now, startedAt + limits.hostSpacing)
    }

    private var mostActive: Int { max(1, limits.active) }

    private var lastOfAll: Int? { yielding.first.flatMap { busy[$0]?.running.first } }

    /// Who has the slot that the next download of an open host would have; nil when there is a free one.
    private func holderOfSlot(at host: Int) -> Int? {
        if let work = busy[host], work.running.count >= mostPerHost { return work.running.first }
        return underWay.count >= mostActive ? lastOfAll : nil
    }

    // A download is let in before it is let out, so that its host is not forgotten in between.

    private mutating func start(at host: Int, _ number: Int, _ now: Instant) -> DownloadID {
        if limits.hostSpacing > .zero {
            busy[host, default: BusyHost()].startedAt = now
            pausedHosts.append(host)
        }
        let id = waiting.id(number)
        run(id, waiting.items[number])
        stopWaiting(number)
        return id
    }

    private mutating func withdraw(_ number: Int) -> DownloadID {
        let id = underWay.id(number)
        wait(id, underWay.items[number])
        stopRunning(number)
        return id
    }

    private mutating func load(at now: Instant) {
        while let host = pausedHosts.first {
            if let startedAt = busy[host]?.startedAt, startedAt + limits.hostSpacing > now { return }
            pausedHosts.removeFirst()
            busy[host]?.startedAt = nil
            refresh(host)
        }
    }
}
