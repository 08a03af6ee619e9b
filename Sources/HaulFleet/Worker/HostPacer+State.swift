internal import DequeModule
internal import HaulKit
internal import Synchronization

/// What is known of hosts, and the requests that wait.
extension HostPacer {
    struct Host {
        /// nil of a host that the queue does not know.
        var id: Int32?
        var gap = Duration.zero
        /// Its connections are counted by the queue.
        var isLimited = false
        /// With limits.
        var leases = 0
        /// Start times that are not used yet, in order.
        var starts: Deque<Duration> = []
        var blockedUntil: Duration?
        var waiting: Deque<Waiter> = []
        var isReserving = false
        var hasTimer = false
        /// Its limits are being asked for: requests wait.
        var isLookedUp = false
        /// Its limits were asked for by its name, and are known until then.
        var knownUntil: Duration?

        func isBlocked(at now: Duration) -> Bool { blockedUntil.map { $0 > now } ?? false }

        func isUnused(at now: Duration) -> Bool {
            leases <= 0 && waiting.isEmpty && !isBlocked(at: now) && knownUntil.map { $0 <= now } ?? true
        }
    }

    struct Waiter {
        let number: Int
        let decided: @Sendable (Bool) -> Void
    }

    struct State {
        /// Those with limits, those that are blocked, and those that were asked for by name, by name.
        var hosts: [String: Host] = [:]
        /// Of hosts of leases without limits the name and the number of leases, by number.
        var free: [Int32: (name: String, leases: Int)] = [:]
        var freeNames: [String: Int32] = [:]
        var lastNumber = 0

        /// Has a request wait, unless it may be sent at once.
        ///
        /// - Returns: nil where it may; otherwise its number, and whether the limits of its host are to be asked for first.
        mutating func enqueue(_ name: String, at now: Duration, _ decided: @escaping @Sendable (Bool) -> Void)
            -> (number: Int, needsLimits: Bool)?
        {
            var host = hosts[name] ?? Host()
            let isOfLease = host.leases > 0 || freeNames[name] != nil
            let needsLimits = !isOfLease && !host.isLookedUp && host.knownUntil.map { $0 <= now } ?? true
            if needsLimits { host.isLookedUp = true }
            guard host.isLookedUp || host.isBlocked(at: now) || host.gap > .zero else { return nil }
            lastNumber += 1
            host.waiting.append(Waiter(number: lastNumber, decided: decided))
            hosts[name] = host
            return (lastNumber, needsLimits)
        }

        /// Whether a host is to be left alone for clearly longer than was known.
        func isNews(_ name: String, blockedUntil until: Duration) -> Bool {
            hosts[name]?.blockedUntil.map { $0 + .milliseconds(250) < until } ?? true
        }

        mutating func addFree(_ lease: Lease) {
            if free[lease.hostID] == nil {
                guard let name = HostName(url: lease.url)?.text else { return }
                free[lease.hostID] = (name, 0)
                freeNames[name] = lease.hostID
            }
            free[lease.hostID]?.leases += 1
        }

        mutating func releaseFree(_ id: Int32) {
            guard let (name, leases) = free[id] else { return }
            free[id]?.leases = leases - 1
            guard leases <= 1 else { return }
            free[id] = nil
            freeNames[name] = nil
        }

        /// - Parameter life: how long they are taken to be so.
        mutating func setLimits(
            _ name: String,
            _ limits: Result<HostLimits?, FleetError>,
            at now: Duration,
            life: Duration
        ) {
            var host = hosts[name] ?? Host()
            (host.isLookedUp, host.knownUntil) = (false, now + life)
            // A lease that came meanwhile knows better; so does what was known, where there is no answer.
            if host.leases <= 0, case .success(let limits) = limits {
                (host.id, host.gap, host.isLimited) = (limits?.hostID, limits?.gap ?? .zero, limits?.isLimited ?? false)
                let blocked = min(limits?.blocked ?? .zero, HostPacer.longestBlock)
                if blocked > .zero { host.blockedUntil = max(host.blockedUntil ?? .zero, now + blocked) }
            }
            hosts[name] = host
            if hosts.count > Self.mostHosts { hosts = hosts.filter { !$0.value.isUnused(at: now) } }
        }

        /// Where there are more hosts than this, unused ones are removed.
        private static let mostHosts = 1000
    }

    /// Asks the queue for the limits of a host that no lease is of.
    func findLimits(_ name: String) async {
        let limits: Result<HostLimits?, FleetError>
        do throws(FleetError) { limits = .success(try await calls.find(name)) } catch { limits = .failure(error) }
        // Without the database a worker finishes what it holds.
        let life = if case .success = limits { Self.limitsLife } else { Self.retryLimits }
        state.withLock { $0.setLimits(name, limits, at: time.now(), life: life) }
        advance(name)
    }

    private static let limitsLife = Duration.seconds(60)
    private static let retryLimits = Duration.seconds(5)
}
