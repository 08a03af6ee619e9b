@testable import HaulFleet

extension SimulatedQueue {
    /// - Parameter number: number of the claim among those of the worker. A repeated number returns the leases of that
    ///   claim that the worker still holds, and no new ones: a late request must not create leases that no caller
    ///   learns of. A number below the last one creates none either.
    mutating func claim(_ worker: WorkerID, number: Int, limit: Int, at now: Int64) throws(FleetError) -> Claim {
        try checkAlive(worker)
        var claim = Claim(leases: held(worker, number, at: now))
        if claim.leases.isEmpty, number > workers[worker]?.claimNumber ?? 0 {
            workers[worker]?.claimNumber = number
            if !isPaused, !isDraining {
                var left = claimsAsUsual(worker, number, at: now) ? limit : 0
                for host in claimOrder(at: now) where left > 0 {
                    left -= take(host, worker, number, limit: left, at: now)
                }
                claim.leases = held(worker, number, at: now)
            }
        }
        guard claim.leases.isEmpty else { return claim }
        claim.isPaused = isPaused || isDraining
        claim.isDrained = isDrained
        if !claim.isPaused, !claim.isDrained { claim.nextDue = nextDue(at: now) }
        return claim
    }

    /// Leases a suspect if there is one for the worker.
    ///
    /// - Returns: `true` if the worker may claim other items.
    private mutating func claimsAsUsual(_ worker: WorkerID, _ number: Int, at now: Int64) -> Bool {
        let leases = lease.compactMap { $0 }.filter { $0.worker == worker }
        if leases.contains(where: \.isSuspect) { return false }
        let due = later.indices.filter { later[$0].map { $0.isSuspect && $0.dueAt <= now } ?? false }
            .sorted { (later[$0]?.dueAt ?? 0, $0) < (later[$1]?.dueAt ?? 0, $1) }
        if leases.isEmpty {
            if due.prefix(16).contains(where: { takeSuspect($0, worker, number, at: now) }) { return false }
            workers[worker]?.makesRoom = false
            return true
        }
        if workers[worker]?.makesRoom == true { return false }
        guard let first = due.first, let row = later[first], row.dueAt < now - 60_000_000_000,
            !workers.values.contains(where: { $0.makesRoom && $0.state == .live })
        else { return true }
        workers[worker]?.makesRoom = true
        return false
    }

    /// - Returns: `false` if the host may get no request now.
    private mutating func takeSuspect(_ index: Int, _ worker: WorkerID, _ number: Int, at now: Int64) -> Bool {
        let host = hosts[itemHosts[index]]
        guard var row = later[index]?.row, host.blockedUntil <= now, host.nextAt <= now || !isLimited(host) else {
            return false
        }
        let room = host.maxConnections.map { $0 - connections(itemHosts[index]) }
        guard room ?? 1 > 0 else { return false }
        row.epoch += 1
        row.attempt += 1
        row.returnedBy = nil
        later[index] = nil
        let start = host.gap > 0 ? max(host.nextAt, now) : nil
        lease[index] = LeaseRow(
            row: row,
            worker: worker,
            claimNumber: number,
            connections: room,
            startsAt: start,
            isSuspect: true
        )
        if let start { hosts[itemHosts[index]].nextAt = start + host.gap }
        return true
    }

    /// Returns the leases of one claim of a worker, or of all claims if `number` is `nil`.
    func held(_ worker: WorkerID, _ number: Int?, at now: Int64) -> [LeasedItem] {
        var leases: [(start: Int64, lease: LeasedItem)] = []
        for index in lease.indices {
            guard let row = lease[index], row.worker == worker, number == nil || row.claimNumber == number else {
                continue
            }
            let host = hosts[itemHosts[index]]
            let answer = LeasedItem(
                key: LeaseKey(item: Int64(index + 1), epoch: row.row.epoch),
                url: "http://host/\(index + 1)",
                path: "\(index + 1)",
                hostID: Int32(itemHosts[index]),
                attempt: row.row.attempt,
                connections: row.connections,
                gap: .nanoseconds(host.gap),
                startsAfter: row.startsAt.map { .nanoseconds($0 - now) },
                uploadID: row.row.uploadID
            )
            leases.append((row.startsAt ?? .min, answer))
        }
        return leases.sorted { ($0.start, $0.lease.key) < ($1.start, $1.lease.key) }.map(\.lease)
    }

    private func isLimited(_ host: Host) -> Bool { host.gap > 0 || host.maxConnections != nil }
    private func hasReady(_ host: Int) -> Bool { ready.indices.contains { ready[$0] != nil && itemHosts[$0] == host } }

    /// Returns the hosts with a limit in order of `nextAt`, then the others.
    private func claimOrder(at now: Int64) -> [Int] {
        let limited = hosts.indices.filter {
            isLimited(hosts[$0]) && hosts[$0].nextAt <= now && hosts[$0].blockedUntil <= now && hasReady($0)
        }
        let free = hosts.indices.filter { !isLimited(hosts[$0]) && hosts[$0].blockedUntil <= now && hasReady($0) }
        return limited.sorted { (hosts[$0].nextAt, $0) < (hosts[$1].nextAt, $1) } + free
    }

    private mutating func take(
        _ host: Int,
        _ worker: WorkerID,
        _ number: Int,
        limit: Int,
        at now: Int64
    ) -> Int {
        let terms = hosts[host]
        var limit = limit
        var room = terms.maxConnections.map { $0 - connections(host) }
        if let room {
            guard room > 0 else { return 0 }
            limit = min(limit, room)
        }
        let start = max(terms.nextAt, now)
        if terms.gap > 0 { limit = min(limit, max(1, Int(2_000_000_000 / terms.gap))) }
        let waiting = ready.indices.filter { ready[$0] != nil && itemHosts[$0] == host }
        // If more items wait than are taken, each gets one connection.
        if waiting.count > limit, room != nil { room = limit }
        let taken = waiting.prefix(limit)
        for (place, index) in taken.enumerated() {
            guard var row = ready[index] else { continue }
            ready[index] = nil
            row.epoch += 1
            row.attempt += 1
            row.returnedBy = nil
            let share = room.map { $0 / taken.count + (place < $0 % taken.count ? 1 : 0) }
            lease[index] = LeaseRow(
                row: row,
                worker: worker,
                claimNumber: number,
                connections: share,
                startsAt: terms.gap > 0 ? start + Int64(place) * terms.gap : nil
            )
        }
        if terms.gap > 0, !taken.isEmpty { hosts[host].nextAt = start + Int64(taken.count) * terms.gap }
        return taken.count
    }

    func connections(_ host: Int) -> Int {
        lease.indices.reduce(0) { sum, index in
            itemHosts[index] == host ? sum + (lease[index].map { $0.connections ?? 1 } ?? 0) : sum
        }
    }

    private func nextDue(at now: Int64) -> Duration? {
        var times = later.compactMap { $0 }.filter { !$0.isSuspect }.map(\.dueAt)
        for index in later.indices {
            guard let row = later[index], row.isSuspect else { continue }
            let host = hosts[itemHosts[index]]
            times.append(max(row.dueAt, host.blockedUntil, host.nextAt))
        }
        for host in hosts.indices where hasReady(host) {
            let time = isLimited(hosts[host]) ? hosts[host].nextAt : hosts[host].blockedUntil
            if time > now { times.append(time) }
        }
        if fedTo < itemCount { times.append(now) }
        return times.min().map { .nanoseconds(max(100_000_000, $0 - now)) }
    }

    mutating func block(_ host: Int, _ duration: Duration, at now: Int64) {
        let until = now + duration.nanoseconds
        guard hosts[host].blockedUntil < until else { return }
        hosts[host].blockedUntil = until
        hosts[host].nextAt = max(hosts[host].nextAt, until)
    }

    mutating func reserve(_ host: Int, _ requests: Int, at now: Int64) -> RequestSlice {
        var first = max(hosts[host].blockedUntil, now)
        let gap = hosts[host].gap
        if gap > 0 {
            first = max(first, hosts[host].nextAt)
            hosts[host].nextAt = first + Int64(max(1, requests)) * gap
        }
        return RequestSlice(startsAfter: .nanoseconds(first - now), gap: .nanoseconds(gap))
    }
}
