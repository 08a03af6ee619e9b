internal import DequeModule
internal import HaulKit
internal import Synchronization

/// The known hosts and the waiting requests.
extension HostPacer {
    struct Host {
        /// Number of the host in the queue; `nil` if the queue does not know the host.
        var id: Int32?
        var gap = Duration.zero
        /// Whether the queue limits the connections to the host.
        var isLimited = false
        /// Number of this worker's leases at the host that have host limits. `State.free` counts the others.
        var leases = 0
        /// Unused start times, in order.
        var starts: Deque<Duration> = []
        var blockedUntil: Duration?
        var waiting: Deque<Waiter> = []
        var isReserving = false
        var hasTimer = false
        /// Whether the pacer is asking for the limits; requests wait meanwhile.
        var isLookedUp = false
        /// Time until which limits that were looked up by name are valid; `nil` if they were not looked up.
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
        /// Hosts by name: those with limits, blocked ones, and those that were looked up by name.
        var hosts: [String: Host] = [:]
        /// Hosts whose leases have no limits, by ``Host/id``; each with the number of its leases.
        var free: [Int32: (name: String, leases: Int)] = [:]
        var freeNames: [String: Int32] = [:]
        var lastNumber = 0

        /// Adds a request to the waiting requests of its host, unless it may be sent at once.
        ///
        /// - Returns: `nil` if the request may be sent at once. Otherwise its number, and whether the host's limits
        ///   must be looked up first.
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

        /// Whether `until` is more than 250 ms later than the known end of the host's block, or no block is known.
        func isNews(_ name: String, blockedUntil until: Duration) -> Bool {
            hosts[name]?.blockedUntil.map { $0 + .milliseconds(250) < until } ?? true
        }

        mutating func addFree(_ lease: LeasedItem) {
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

        /// Stores the limits that were looked up by name.
        ///
        /// - Parameter life: time for which the limits are valid.
        mutating func setLimits(
            _ name: String,
            _ limits: Result<HostLimits?, FleetError>,
            at now: Duration,
            life: Duration
        ) {
            var host = hosts[name] ?? Host()
            (host.isLookedUp, host.knownUntil) = (false, now + life)
            // A lease that arrived meanwhile has newer limits. Without an answer, the known limits stay.
            if host.leases <= 0, case .success(let limits) = limits {
                (host.id, host.gap, host.isLimited) = (limits?.hostID, limits?.gap ?? .zero, limits?.isLimited ?? false)
                let blocked = min(limits?.blocked ?? .zero, HostPacer.longestBlock)
                if blocked > .zero { host.blockedUntil = max(host.blockedUntil ?? .zero, now + blocked) }
            }
            hosts[name] = host
            if hosts.count > Self.mostHosts { hosts = hosts.filter { !$0.value.isUnused(at: now) } }
        }

        /// Above this number of hosts, unused ones are removed.
        private static let mostHosts = 1000
    }

    /// Asks the queue for the limits of a host without a lease.
    func findLimits(_ name: String) async {
        let limits: Result<HostLimits?, FleetError>
        do throws(FleetError) { limits = .success(try await calls.find(name)) } catch { limits = .failure(error) }
        // Admits requests for a short time after a failed look-up, because a worker finishes its items without the
        // database.
        let life = if case .success = limits { Self.limitsLife } else { Self.retryLimits }
        state.withLock { $0.setLimits(name, limits, at: time.now(), life: life) }
        advance(name)
    }

    private static let limitsLife = Duration.seconds(60)
    private static let retryLimits = Duration.seconds(5)
}
