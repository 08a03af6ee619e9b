internal import Foundation
internal import Logging

/// When downloads may run at all: by the timetable, by what kind of network there is, and whether there is any.
extension Downloader {
    /// What keeps everything from running now.
    struct RunConditions {
        /// What is asked of the network; see ``Configuration/waitsForNetwork`` and ``Configuration/allowsMetered``.
        var waitsForNetwork: Bool
        var allowsMetered: Bool
        let binding: NetworkBinding?
        /// How the network was last seen.
        var network = NetworkStatus.unknown
        /// What the timetable says now.
        var rule = Timetable.Rule.open(bytesPerSecond: nil)

        var isOutsideHours: Bool { rule == .closed }
        var isMetered: Bool { !allowsMetered && network.isMetered == true }
        var isOffline: Bool {
            // A machine that has nothing but itself is not offline: it never was anything else.
            let hasNetworks = network.interfaces?.contains { !$0.isLoopback } ?? false
            return waitsForNetwork && hasNetworks && !network.isOnline(via: binding)
        }
        /// What the timetable allows; nil for any speed.
        var bytesPerSecond: Int64? {
            if case .open(let bytesPerSecond) = rule { bytesPerSecond } else { nil }
        }

        /// The reasons that hold, the one first that downloads are told.
        var reasons: [HoldReason] {
            (isOffline ? [.offline] : []) + (isMetered ? [.metered] : []) + (isOutsideHours ? [.outsideHours] : [])
        }
        /// The reasons that those were told that wait.
        var toldReasons: [HoldReason] = []

        /// What keeps a download from running: this machine is never offline to itself, nor does it cost anything.
        func reason(forHost host: String) -> HoldReason? {
            let reasons = reasons
            guard !reasons.isEmpty, NetworkStatus.isThisMachine(host) else { return reasons.first }
            return reasons.first { $0 == .outsideHours }
        }
    }

    /// Begins to look at network and clock, as configured.
    func watchGates() {
        followTimetable()
        watchNetwork()
    }

    private func watchNetwork() {
        guard networkMonitor == nil, conditions.waitsForNetwork || !conditions.allowsMetered else { return }
        let monitor = configuration.networkMonitor ?? SystemNetworkMonitor()
        networkMonitor = monitor
        Task { [weak self] in
            for await status in monitor.statuses() {
                guard let self else { return }
                await self.take(status)
            }
        }
    }

    func stopWatchingGates() {
        networkMonitor?.stop()
        timetableTimer?.cancel()
    }

    /// Changes on what networks downloads run, from now on; nil leaves a thing as it is. What runs on a network that is barred
    /// now is paused, and goes on by itself where it may.
    ///
    /// - Parameters:
    ///   - waitsForNetwork: see ``Configuration/waitsForNetwork``.
    ///   - allowsMetered: see ``Configuration/allowsMetered``.
    public func setNetworkPolicy(waitsForNetwork: Bool? = nil, allowsMetered: Bool? = nil) {
        guard !isShuttingDown else { return }
        if let waitsForNetwork { conditions.waitsForNetwork = waitsForNetwork }
        if let allowsMetered { conditions.allowsMetered = allowsMetered }
        watchNetwork()
        evaluateConditions()
    }

    private func take(_ status: NetworkStatus) {
        conditions.network = status
        evaluateConditions()
    }

    // MARK: Hours

    /// Gives downloads other hours and rates, from now on; nil for none.
    public func setTimetable(_ timetable: Timetable?) {
        guard !isShuttingDown else { return }
        self.timetable = timetable
        followTimetable()
    }

    private func followTimetable() {
        timetableTimer?.cancel()
        timetableTimer = nil
        let now = time.date()
        conditions.rule = timetable?.rule(at: now) ?? .open(bytesPerSecond: nil)
        evaluateConditions()
        // What is held at the closing hour is not let through at full speed first.
        if !conditions.isOutsideHours { limitSpeed() }
        guard let next = timetable?.nextChange(after: now) else { return }
        let sleep = time.sleep
        timetableTimer = Task { [weak self] in
            // An hour at most: the clock may be set, and summer come.
            let wait = min(max(next.timeIntervalSince(now), 0.01), 3600)
            // Ends early only by cancellation, and then another one has been set.
            guard (try? await sleep(.seconds(wait))) != nil else { return }
            await self?.followTimetable()
        }
    }

    /// The lower of what the application says and what the timetable does.
    func limitSpeed() {
        speedLimit.bytesPerSecond = [ownSpeedLimit, conditions.bytesPerSecond].compactMap(\.self).min()
    }

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
        conditions.toldReasons = reasons
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
