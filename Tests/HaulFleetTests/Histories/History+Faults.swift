@testable import HaulFleet

/// Plans faults and performs them.
extension History {
    func plan() {
        let count = Int(pick(2...4))
        let areClocksEven = chance(0.5)
        for number in 0..<count {
            let process = SimulatedProcess(
                number,
                rate: areClocksEven ? 100 : pick(50...200),
                origin: pick(0...1_000_000) * Self.second,
                capacity: Int(pick(1...5)),
                endsWhenDrained: chance(0.2)
            )
            processes.append(process)
            heap.push(.restart(number, isSameFolder: true), at: delay(upTo: 8 * Self.second))
        }
        let length = queue.rules.leaseTime.nanoseconds * pick(1...6)
        if chance(0.4) { freezeAtPublish = 0.3 }
        if chance(0.3) { killAtPublish = 0.3 }
        for _ in 0..<pick(0...8) { planFault(at: pick(0...length)) }
        if chance(0.5) {
            for _ in 0..<pick(1...8) {
                heap.push(.fault(.sourceChange(Int(pick(0...Int64(queue.itemCount - 1))))), at: pick(0...length))
            }
        }
        heap.push(.heal, at: length)
    }

    private func planFault(at time: Int64) {
        let process = Int(pick(0...Int64(processes.count - 1)))
        let lease = queue.rules.leaseTime.nanoseconds
        let item = Int(pick(0...Int64(queue.itemCount - 1)))
        func plan(_ fault: Fault, _ delay: Int64 = 0) { heap.push(.fault(fault), at: time + delay) }
        switch pick(0...13) {
        case 0, 1: plan(.kill(process))
        case 2, 3: plan(.freeze(process, delay(upTo: lease * 4)))
        case 4: plan(.stop(process))
        case 5: plan(.databaseOutage(delay(upTo: lease * 3)))
        case 6:
            plan(.snapshot)
            plan(.failover(delay(upTo: 8 * Self.second)), delay(upTo: 16 * Self.second))
        case 7: plan(.destinationOutage(delay(upTo: lease * 2)))
        case 8:
            plan(.network(loss: 0.3))
            plan(.network(loss: 0), delay(upTo: lease * 2))
        case 9:
            plan(.pause(true))
            plan(.pause(false), delay(upTo: lease))
        case 10:
            plan(.drain(true))
            plan(.drain(false), delay(upTo: lease))
        case 12: plan(.cancel(chance(0.2) ? nil : item))
        case 11: for _ in 0..<3 { plan(.sourceChange(item), pick(0...lease)) }
        default: plan(.block(Int(pick(0...Int64(queue.hosts.count - 1))), .nanoseconds(delay(upTo: lease * 2))))
        }
    }

    func happen(_ fault: Fault) {
        guard !isHealed else { return }
        trace("fault: \(fault)")
        switch fault {
        case .kill(let number): kill(processes[number])
        case .freeze(let number, let duration): freeze(processes[number], for: duration)
        case .stop(let number): push(.event(.stopRequested), in: processes[number], after: 0)
        case .databaseOutage(let duration):
            isDatabaseUp = false
            push(.fault(.databaseBack), after: duration)
        case .databaseBack: restartDatabase()
        case .snapshot: snapshot = queue
        case .failover(let duration):
            failOver()
            push(.fault(.databaseBack), after: duration)
        case .destinationOutage(let duration):
            destination.isDown = true
            push(.fault(.destinationBack), after: duration)
        case .destinationBack: destination.isDown = false
        case .network(let loss): self.loss = loss
        case .pause(let isPaused): queue.isPaused = isPaused
        case .drain(let isDraining): queue.isDraining = isDraining
        case .sourceChange(let item): sources[item].version += 1
        case .block(let host, let duration): queue.block(host, duration, at: databaseNow)
        case .cancel(let item):
            guard isDatabaseUp else { return }
            counts.cancelled += queue.cancel(item)
            checkQueue()
        }
    }

    private func restartDatabase() {
        guard !isDatabaseUp else { return }
        isDatabaseUp = true
        queue.startedAt = databaseNow
    }

    /// Replaces the database by a standby with another clock. Commits since the snapshot are lost.
    private func failOver() {
        guard var standby = snapshot else { return }
        snapshot = nil
        isDatabaseUp = false
        failovers += 1
        databaseOffset += pick(-30...30) * Self.second
        standby.timeline = queue.timeline + 1
        standby.sequence = queue.sequence
        standby.startedAt = databaseNow
        queue = standby
        accepted = [:]
        for index in 0..<queue.itemCount {
            ended[index] = queue.done[index]
            epochs[index] = epoch(of: index)
        }
    }

    func heal() {
        trace("faults end")
        isHealed = true
        healedAt = now
        loss = 0
        (freezeAtPublish, killAtPublish) = (0, 0)
        destination.isDown = false
        (queue.isPaused, queue.isDraining) = (false, false)
        restartDatabase()
        for index in sources.indices { sources[index].kills = sources[index].kills && chance(0.5) }
        for process in processes {
            thaw(process)
            start(process, isSameFolder: true)
        }
    }
}
