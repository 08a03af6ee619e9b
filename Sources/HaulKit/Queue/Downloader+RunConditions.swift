internal import Foundation
internal import Logging

/// When downloads may run at all: by the timetable, by what kind of network there is, and whether there is any.
extension Downloader {
    var conditions: RunConditions { monitor.conditions }

    /// Begins to watch network and clock, as configured.
    func watchConditions() {
        followTimetable()
        watchNetwork()
    }

    private func watchNetwork() {
        monitor.watchNetwork { [weak self] status in
            guard let self else { return false }
            await self.networkChanged(status)
            return true
        }
    }

    /// Changes on which networks downloads run, from now on. Downloads that may no longer run are held, and continue when they
    /// may. Does nothing after ``shutDown()``.
    ///
    /// - Parameters:
    ///   - waitsForNetwork: see ``Configuration/waitsForNetwork``; `nil`: unchanged.
    ///   - allowsMetered: see ``Configuration/allowsMetered``; `nil`: unchanged.
    public func setNetworkPolicy(waitsForNetwork: Bool? = nil, allowsMetered: Bool? = nil) {
        guard !isShuttingDown else { return }
        if let waitsForNetwork { monitor.conditions.waitsForNetwork = waitsForNetwork }
        if let allowsMetered { monitor.conditions.allowsMetered = allowsMetered }
        watchNetwork()
        evaluateConditions()
    }

    private func networkChanged(_ status: NetworkStatus) {
        monitor.conditions.network = status
        evaluateConditions()
    }

    // MARK: Hours

    /// Replaces the timetable from now on; `nil` for none. Not remembered for the next start. Does nothing after ``shutDown()``.
    public func setTimetable(_ timetable: Timetable?) {
        guard !isShuttingDown else { return }
        monitor.setTimetable(timetable)
        followTimetable()
    }

    private func followTimetable() {
        monitor.followTimetable { [weak self] in await self?.followTimetable() }
        evaluateConditions()
        // What is held at the closing hour is not let through at full speed first.
        if !conditions.isOutsideHours { limitSpeed() }
    }

    /// The lower of what the application says and what the timetable does.
    func limitSpeed() { speed.limit(conditions.bytesPerSecond) }

    // MARK: Opening and shutting

    private func evaluateConditions() {
        let reasons = conditions.reasons
        queue.isShut = !reasons.isEmpty
        queue.servesThisMachine = !conditions.isOutsideHours
        if !reasons.isEmpty {
            for id in Array(queue.running) {
                guard let task = tasks[id], let reason = conditions.reason(forHost: task.record.host ?? "") else {
                    continue
                }
                send(.held(reason), to: task)
            }
        }
        tellWaiting(reasons)
        for ended in [HoldReason.offline, .metered, .outsideHours] where !reasons.contains(ended) {
            for task in tasks.values.filter({ $0.machine.hold == ended }).sorted(by: {
                $0.record.position < $1.record.position
            }) {
                send(.holdEnded(ended), to: task)
            }
        }
        startQueuedDownloads()
    }

    /// Tells those that wait what keeps them, or that nothing does any more.
    private func tellWaiting(_ reasons: [HoldReason]) {
        guard reasons != conditions.toldReasons else { return }
        monitor.conditions.toldReasons = reasons
        guard queue.waitingCount > 0 else { return }
        announceWaiting()
        for (id, hub) in hubs.all where queue.waits(id) && hub.outcome == nil {
            let last = hub.snapshot
            guard last.state == .queued else { continue }
            let present = tasks[id].map { snapshot(of: $0) } ?? withReason(last, last.host)
            if present != last { hub.changed(present) }
        }
    }
}
