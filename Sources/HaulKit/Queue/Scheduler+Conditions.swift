internal import Foundation
internal import Logging

/// Decides whether downloads may run at all, by the timetable and by the state of the network.
extension Scheduler {
    /// Begins to watch the network and the clock, as configured.
    func watchConditions() {
        followTimetable()
        watchNetwork()
    }

    /// Applies another network policy; `nil` leaves a setting unchanged.
    func setNetworkPolicy(waitsForNetwork: Bool?, allowsMetered: Bool?) {
        let monitor = environment.conditions
        if let waitsForNetwork { monitor.conditions.waitsForNetwork = waitsForNetwork }
        if let allowsMetered { monitor.conditions.allowsMetered = allowsMetered }
        watchNetwork()
        evaluateConditions()
    }

    /// Judges by another interface or local address whether the machine is online; `nil` for no binding.
    func setBinding(_ binding: NetworkBinding?) {
        environment.conditions.conditions.binding = binding
        evaluateConditions()
    }

    func setTimetable(_ timetable: Timetable?) {
        environment.conditions.setTimetable(timetable)
        followTimetable()
    }

    private func watchNetwork() {
        let changed = environment.spawner.receiver(self) { (scheduler, status: NetworkStatus, _) in
            scheduler.environment.conditions.conditions.network = status
            scheduler.evaluateConditions()
            return true
        }
        environment.conditions.watchNetwork(changed)
    }

    private func followTimetable() {
        environment.conditions.followTimetable(
            environment.spawner.signal(self) { scheduler, _ in scheduler.followTimetable() }
        )
        evaluateConditions()
        // Keeps the last speed limit when the hours end. Otherwise the bytes that the limiter delays would pass at full
        // speed.
        let conditions = environment.conditions.conditions
        if !conditions.isOutsideHours { speed.limit(conditions.bytesPerSecond) }
    }

    // MARK: Opening and shutting

    private func evaluateConditions() {
        let conditions = environment.conditions.conditions
        let reasons = conditions.reasons
        queue.isShut = !reasons.isEmpty
        queue.servesThisMachine = !conditions.isOutsideHours
        if !reasons.isEmpty {
            for task in runningOrBackingOff {
                guard let reason = conditions.reason(forHost: task.record.host ?? "") else { continue }
                task.send(.held(reason))
            }
        }
        tellWaiting(reasons)
        for ended in [HoldReason.offline, .metered, .outsideHours] where !reasons.contains(ended) {
            for task in catalog.tasks.values.filter({ $0.machine.hold == ended }).sorted(by: {
                $0.record.position < $1.record.position
            }) {
                task.send(.holdEnded(ended))
            }
        }
        startQueuedDownloads()
    }

    /// Reports the changed hold reason of the waiting downloads, or its end, to their handles and to listeners.
    private func tellWaiting(_ reasons: [HoldReason]) {
        guard reasons != environment.conditions.conditions.toldReasons else { return }
        environment.conditions.conditions.toldReasons = reasons
        guard queue.waitingCount > 0 else { return }
        announceWaiting()
        for (id, hub) in environment.notifications.hubs.all where queue.waits(id) && hub.outcome == nil {
            let last = hub.snapshot
            guard last.state == .queued else { continue }
            let present = catalog.tasks[id]?.present() ?? environment.withReason(last, last.host)
            if present != last { hub.changed(present) }
        }
    }

    /// Reports to listeners the number of waiting downloads after a change that concerns all of them.
    private func announceWaiting() {
        let notifications = environment.notifications
        notifications.broadcast.tellAlone(.changedTogether(to: .queued, count: queue.waitingCount), group: nil)
        let groups = notifications.broadcast.groups
        guard !groups.isEmpty else { return }
        notifications.tell(self) { scheduler, _ in await scheduler.announceWaiting(in: groups) }
    }

    private func announceWaiting(in groups: Set<String>, isolation: isolated (any Actor)? = #isolation) async {
        let broadcast = environment.notifications.broadcast
        for group in groups.sorted() {
            do throws(DownloadError) {
                let open = try await environment.services.store.open(group: group, limit: .max)
                let count = open.count { queue.waits($0) }
                guard count > 0 else { continue }
                broadcast.tellAlone(.changedTogether(to: .queued, count: count), group: group)
            } catch { environment.services.logger.debug("store: \(error)") }
        }
    }
}
