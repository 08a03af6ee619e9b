extension DownloadQueue {
    /// Grants the slots that are free at `now`, and the slots taken from running downloads of lower priority.
    ///
    /// - Returns: `granted`, the downloads that may start, in the order of the line; `withdrawn`, the downloads that
    ///   must stop for them. The withdrawn downloads are already back in the line, at their own positions.
    package mutating func grant(at now: Instant) -> (granted: [DownloadID], withdrawn: [DownloadID]) {
        load(at: now)
        var (granted, withdrawn): ([DownloadID], [DownloadID]) = ([], [])
        if isShut, servesThisMachine { return (grantHere(at: now), []) }
        // The loop ends if more than `mostActive` downloads run, because stopping one of them frees no slot.
        while !isShut, underWay.count <= mostActive, let host = open.first, let first = hosts[host].line.first {
            if let last = holderOfSlot(at: host) {
                guard takesSlot(first, from: last) else { break }
                withdrawn.append(withdraw(last))
            }
            granted.append(start(at: host, first, now))
        }
        return (granted, withdrawn)
    }

    /// Grants free slots to downloads from this machine, which need no network. Takes no slot from a running download.
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

    /// Returns the time at which a host has rested for ``Limits/hostSpacing``, so that ``grant(at:)`` can grant a slot
    /// to a download of the host. `nil` if no download waits only because its host rests.
    package func nextGrant(after now: Instant) -> Instant? {
        if isShut { return servesThisMachine ? nextGrantHere(after: now) : nil }
        guard underWay.count <= mostActive, let host = waking.first, let startedAt = busy[host]?.startedAt
        else { return nil }
        if underWay.count == mostActive {
            guard let first = closed.first.flatMap({ hosts[$0].line.first }), let last = lastOfAll,
                takesSlot(first, from: last)
            else { return nil }
        }
        return max(now, startedAt + limits.hostSpacing)
    }

    private func nextGrantHere(after now: Instant) -> Instant? {
        guard underWay.count < mostActive else { return nil }
        let starts = waking.numbers.filter { NetworkStatus.isThisMachine(hosts.name($0)) }
            .compactMap { busy[$0]?.startedAt }
        return starts.min().map { max(now, $0 + limits.hostSpacing) }
    }

    private var mostActive: Int { max(1, limits.active) }

    private var lastOfAll: Int? { yielding.first.flatMap { busy[$0]?.running.first } }

    /// The running download whose slot the next download of an open host would take; `nil` if a slot is free.
    private func holderOfSlot(at host: Int) -> Int? {
        if let work = busy[host], work.running.count >= mostPerHost { return work.running.first }
        return underWay.count >= mostActive ? lastOfAll : nil
    }

    // `start` and `withdraw` add a download to the new table before they remove it from the old one, so that
    // `refresh(_:)` does not forget its host.

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
