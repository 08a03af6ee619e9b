internal import DequeModule
internal import Foundation
internal import HaulKit
internal import Synchronization

/// Enforces the fleet's limits for hosts in one worker. Sends no request to a host sooner than the queue allows, and
/// tells the queue when a host asks for a pause.
///
/// A lease of a host with a minimum gap contains the start time of one request, unless the lease was taken over. Each
/// further request (a retry, a further range, a redirect to that host) reserves another start time from the queue. A
/// start time that has passed is not used, because the queue has given the next ones to other workers. The limits of a
/// host without leases, such as the target of a redirect, are looked up by name. All methods may be called from any
/// thread.
final class HostPacer: RequestAdmission {
    /// Calls to the queue.
    struct Calls: Sendable {
        var reserve: @Sendable (_ hostID: Int32, _ requests: Int) async throws(FleetError) -> RequestSlice
        /// Returns the limits of a host by its name; `nil` if the queue does not know the host.
        var find: @Sendable (_ name: String) async throws(FleetError) -> HostLimits?
        /// Blocks a host for the whole fleet after a 429, or a 503 with `Retry-After`.
        var block: @Sendable (_ hostID: Int32, _ duration: Duration) -> Void
        /// Called when a block of a host begins or grows, so that the worker can give back the items that would wait.
        var onBlocked: @Sendable (_ hostID: Int32, _ duration: Duration) -> Void
    }

    /// Time since an origin, by a monotonic clock.
    struct Time: Sendable {
        var now: @Sendable () -> Duration
        var sleep: @Sendable (_ until: Duration) async -> Void

        static func continuous() -> Time {
            let origin = ContinuousClock.now
            return Time(
                now: { origin.duration(to: .now) },
                // Nothing cancels this task, so the sleep does not end early.
                sleep: { until in try? await Task.sleep(until: origin + until, clock: .continuous) }
            )
        }
    }

    let calls: Calls
    let time: Time
    /// Returns the name of a request's host in the queue; `nil` for a URL without a host.
    private let name: @Sendable (URL) -> String?
    let state = Mutex(State())
    /// Delay that is added to all start times, because a request needs a moment until it is sent. The gaps between
    /// requests stay the same.
    private static let lead = Duration.milliseconds(250)
    /// Maximum block after one response. A server that asks for a year is asked again after an hour.
    static let longestBlock = Duration.seconds(3600)
    /// Duration of a block after a 429 without `Retry-After`.
    private static let blockWithoutTime = Duration.seconds(5)
    private static let mostReserved = 16

    init(
        _ calls: Calls,
        time: Time = .continuous(),
        name: @escaping @Sendable (URL) -> String? = { HostName($0)?.text }
    ) { (self.calls, self.time, self.name) = (calls, time, name) }

    // MARK: Hosts

    /// Adds a lease with its start time. The caller must call ``release(_:)`` once for each call.
    func add(_ lease: LeasedItem) {
        guard lease.hasHostLimits else { return state.withLock { $0.addFree(lease) } }
        guard let name = HostName(url: lease.url)?.text else { return }
        let now = time.now()
        state.withLock { state in
            var host = state.hosts[name] ?? Host(id: lease.hostID)
            host.id = lease.hostID
            host.leases += 1
            host.gap = lease.gap
            host.isLimited = lease.connections != nil
            if lease.gap > .zero, let wait = lease.startsAfter { host.starts.append(now + wait + Self.lead) }
            state.hosts[name] = host
        }
    }

    /// Removes a lease that the worker no longer holds.
    func release(_ lease: LeasedItem) {
        guard lease.hasHostLimits else { return state.withLock { $0.releaseFree(lease.hostID) } }
        guard let name = HostName(url: lease.url)?.text else { return }
        let now = time.now()
        state.withLock { state in
            state.hosts[name]?.leases -= 1
            if state.hosts[name]?.isUnused(at: now) ?? false { state.hosts[name] = nil }
        }
    }

    /// Blocks a host for `duration`. A longer block that exists already stays.
    func block(_ id: Int32, for duration: Duration) {
        let name = state.withLock { state in
            state.hosts.first { $0.value.id == id }?.key ?? state.free[id]?.name
        }
        if let name { block(name, id, for: duration) }
    }

    private func block(_ name: String, _ id: Int32, for duration: Duration) {
        let now = time.now()
        let until = now + min(duration, Self.longestBlock)
        let isNew = state.withLock { state in
            var host = state.hosts[name] ?? Host(id: id)
            guard !host.isBlocked(at: now) || (host.blockedUntil ?? until) < until else { return false }
            host.blockedUntil = until
            state.hosts[name] = host
            return true
        }
        if isNew { calls.onBlocked(id, duration) }
    }

    /// Returns the remaining time of a host's block; `nil` if the host is not blocked.
    func blockedTime(of url: String) -> Duration? {
        guard let name = HostName(url: url)?.text else { return nil }
        let now = time.now()
        guard let until = state.withLock({ $0.hosts[name]?.blockedUntil }), until > now else { return nil }
        return until - now
    }

    // MARK: RequestAdmission

    func admit(_ url: URL, decided: @escaping @Sendable (Bool) -> Void) -> (any AdmissionWait)? {
        guard let name = name(url) else { return nil }
        guard let place = state.withLock({ $0.enqueue(name, at: time.now(), decided) }) else { return nil }
        if place.needsLimits { Task { await findLimits(name) } } else { advance(name) }
        return Wait(pacer: self, name: name, number: place.number)
    }

    func closesConnection(to url: URL) -> Bool {
        guard !state.withLock(\.hosts.isEmpty), let name = name(url) else { return false }
        return state.withLock { $0.hosts[name]?.isLimited ?? false }
    }

    func answered(_ url: URL, status: Int, retryAfter: Duration?) {
        guard status == 429 || status == 503 && retryAfter != nil, let name = name(url) else { return }
        let duration = min(Self.longestBlock, retryAfter ?? Self.blockWithoutTime)
        guard duration > .zero else { return }
        let (id, isNews) = state.withLock { state in
            (state.hosts[name]?.id ?? state.freeNames[name], state.isNews(name, blockedUntil: time.now() + duration))
        }
        guard let id else { return }
        // Reports the block to the queue only once, because many connections may get the same response.
        if isNews { calls.block(id, duration) }
        block(name, id, for: duration)
    }

    private struct Wait: AdmissionWait {
        let pacer: HostPacer
        let name: String
        let number: Int

        func cancel() { pacer.cancel(name, number) }
    }

    private func cancel(_ name: String, _ number: Int) {
        let waiter: Waiter? = state.withLock { state in
            guard let index = state.hosts[name]?.waiting.firstIndex(where: { $0.number == number }) else { return nil }
            return state.hosts[name]?.waiting.remove(at: index)
        }
        waiter?.decided(false)
    }

    // MARK: Waiting

    private enum Step {
        case send(Waiter)
        case sleep(until: Duration)
        case reserve(hostID: Int32, count: Int)
        case nothing
    }

    /// Admits the requests whose time has come, and sets a timer or reserves start times for the others.
    func advance(_ name: String) {
        while true {
            let now = time.now()
            switch state.withLock({ state in Self.step(&state.hosts[name], now) }) {
            case .send(let waiter):
                waiter.decided(true)
                continue
            case .sleep(let until):
                Task {
                    await time.sleep(until)
                    state.withLock { $0.hosts[name]?.hasTimer = false }
                    advance(name)
                }
            case .reserve(let hostID, let count): Task { await reserve(name, hostID, count) }
            case .nothing: break
            }
            return
        }
    }

    private static func step(_ host: inout Host?, _ now: Duration) -> Step {
        guard var found = host else { return .nothing }
        guard !found.waiting.isEmpty else {
            if found.isUnused(at: now) { host = nil }
            return .nothing
        }
        defer { host = found }
        guard !found.isLookedUp else { return .nothing }
        if let until = found.blockedUntil, until > now { return sleep(&found, until) }
        found.blockedUntil = nil
        guard found.gap > .zero else { return found.waiting.popFirst().map { .send($0) } ?? .nothing }
        let tolerance = max(.milliseconds(5), found.gap / 20)
        while let first = found.starts.first, first + tolerance < now { found.starts.removeFirst() }
        guard let start = found.starts.first else {
            guard !found.isReserving, let id = found.id else { return .nothing }
            found.isReserving = true
            return .reserve(hostID: id, count: min(found.waiting.count, mostReserved))
        }
        guard start <= now else { return sleep(&found, start) }
        found.starts.removeFirst()
        return found.waiting.popFirst().map { .send($0) } ?? .nothing
    }

    private static func sleep(_ host: inout Host, _ until: Duration) -> Step {
        guard !host.hasTimer else { return .nothing }
        host.hasTimer = true
        return .sleep(until: until)
    }

    private func reserve(_ name: String, _ hostID: Int32, _ count: Int) async {
        do throws(FleetError) {
            let slice = try await calls.reserve(hostID, count)
            let first = time.now() + slice.startsAfter + Self.lead
            state.withLock { state in
                state.hosts[name]?.isReserving = false
                state.hosts[name]?.gap = slice.gap
                for index in 0..<count { state.hosts[name]?.starts.append(first + slice.gap * index) }
            }
        } catch {
            // No start time is available without the database. The requests wait, or the end of their lease cancels
            // them.
            await time.sleep(time.now() + .seconds(1))
            state.withLock { $0.hosts[name]?.isReserving = false }
        }
        advance(name)
    }
}

extension LeasedItem {
    fileprivate var hasHostLimits: Bool { gap > .zero || connections != nil }
}
