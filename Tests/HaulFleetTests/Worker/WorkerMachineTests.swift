import Testing

@testable import HaulFleet

/// Tests single decisions of the machine. `Histories` tests whole histories.
@Suite struct WorkerMachineTests {
    private static func second(_ seconds: Double) -> Duration { .milliseconds(Int64(seconds * 1000)) }

    private static func lease(_ item: Int64, epoch: Int32 = 1) -> LeasedItem {
        LeasedItem(key: LeaseKey(item: item, epoch: epoch), url: "http://h/\(item)", path: "\(item)")
    }

    private static func file(_ lease: LeasedItem) -> StagedFile {
        StagedFile(key: lease.key, stagedPath: "s", path: lease.path, bytes: 1, sha256: Array(repeating: 0, count: 32))
    }

    private static let unreachable = FleetError(.databaseUnreachable, "away")

    /// Returns a machine that registered at 1 s with a lease time of 60 s.
    private static func machine(_ settings: WorkerMachine.Settings = .init()) -> (WorkerMachine, [WorkerAction]) {
        var machine = WorkerMachine(settings: settings, seed: 7)
        #expect(machine.start(at: second(1)) == [.call(.register(predecessor: settings.predecessor))])
        #expect(machine.start(at: second(1)).isEmpty)
        let registration = Registration(worker: 5, leaseTime: second(60))
        let actions = machine.handle(.registered(registration, sentAt: second(1)), at: second(1))
        return (machine, actions)
    }

    /// Returns the same machine with one file that waits for the answer of the gate.
    private static func atGate() -> (WorkerMachine, PreparedFile) {
        var (machine, _) = machine()
        let lease = lease(1)
        #expect(
            machine.handle(.claimed(Claim(leases: [lease]), sentAt: second(1)), at: second(2)).contains(.begin(lease))
        )
        let file = PreparedFile(file: file(lease))
        #expect(
            machine.handle(.downloadEnded(lease.key, .staged(file.file)), at: second(3)).contains(.prepare(file.file))
        )
        #expect(machine.handle(.prepared(lease.key, .success(file)), at: second(4)).contains(.call(.gate([lease.key]))))
        return (machine, file)
    }

    @Test func aWorkerClaimsWhenItIsRegistered() {
        let (_, actions) = Self.machine()
        #expect(actions == [.call(.claim(limit: 64))])
    }

    @Test func aFileIsPublishedReportedAndDiscardedInThisOrder() {
        var (machine, file) = Self.atGate()
        let key = file.file.key
        #expect(machine.handle(.gated([key], held: [key]), at: Self.second(5)).contains(.publish([file])))
        let report = Report(key, .completed(CompletedFile(bytes: 1, sha256: file.file.sha256, tag: "t")))
        #expect(
            machine.handle(.published([key: .published(tag: "t")]), at: Self.second(6)).contains(
                .call(.report([report]))
            )
        )
        #expect(
            machine.handle(.reported([report], accepted: [key]), at: Self.second(7)).contains(
                .discard(key, keepsBytes: false)
            )
        )
        #expect(machine.heldCount == 0)
    }

    @Test func theFirstClaimThatBringsNothingIsFollowedByMaintenanceAtOnce() {
        var (machine, _) = Self.machine()
        #expect(
            machine.handle(.claimed(Claim(leases: []), sentAt: Self.second(1)), at: Self.second(2)) == [
                .call(.maintain)
            ]
        )
        let fed = machine.handle(.maintained(Maintenance(fedItems: 9)), at: Self.second(2))
        #expect(fed == [.call(.claim(limit: 64))])
        // Later empty claims do not start maintenance at once.
        #expect(machine.handle(.claimed(Claim(leases: []), sentAt: Self.second(2)), at: Self.second(2)).isEmpty)
    }

    @Test func aDestinationThatCannotBeUsedAtAllCostsNoAttempt() throws {
        var (machine, file) = Self.atGate()
        let key = file.file.key
        _ = machine.handle(.gated([key], held: [key]), at: Self.second(5))
        let gone = FleetError(.destinationUnreachable, "gone").blamingNoFile()
        let actions = machine.handle(.published([key: .failed(gone)]), at: Self.second(6))
        #expect(actions.contains(.call(.report([Report(key, .returned)]))))
        _ = machine.handle(.reported([Report(key, .returned)], accepted: [key]), at: Self.second(6))
        _ = machine.handle(.claimed(Claim(leases: []), sentAt: Self.second(3)), at: Self.second(6))
        #expect(try #require(machine.nextClaim) > Self.second(7))
    }

    @Test func aWorkerThatHasNothingLeftClaimsAtOnce() {
        var (machine, file) = Self.atGate()
        let key = file.file.key
        // A claim found nothing while the last item was being published.
        for second in 4..<9 { _ = machine.handle(.timer, at: Self.second(Double(second))) }
        _ = machine.handle(.claimed(Claim(leases: []), sentAt: Self.second(8)), at: Self.second(8))
        _ = machine.handle(.gated([key], held: [key]), at: Self.second(8))
        _ = machine.handle(.published([key: .published(tag: "t")]), at: Self.second(8))
        let report = Report(key, .completed(CompletedFile(bytes: 1, sha256: file.file.sha256, tag: "t")))
        let actions = machine.handle(.reported([report], accepted: [key]), at: Self.second(8))
        #expect(actions.contains(.call(.claim(limit: 64))))
    }

    @Test func aBeatEndsTheCancelledItems() {
        var (machine, _) = Self.machine()
        let leases = [Self.lease(1), Self.lease(2)]
        _ = machine.handle(.claimed(Claim(leases: leases), sentAt: Self.second(1)), at: Self.second(2))
        for second in 3..<17 { _ = machine.handle(.timer, at: Self.second(Double(second))) }
        var beat = Beat(leaseTime: Self.second(60))
        // A lease that the worker does not know, because the answer of its claim was lost, and an earlier lease of item 2.
        beat.cancelled = [leases[0].key, LeaseKey(item: 9, epoch: 1), LeaseKey(item: 2, epoch: 0)]
        let actions = machine.handle(.beatAnswered(beat, sentAt: Self.second(16)), at: Self.second(17))
        #expect(
            actions.filter { $0 != .call(.claim(limit: 63)) } == [
                .suspend(leases[0].key), .discard(leases[0].key, keepsBytes: true),
            ]
        )
        #expect(machine.heldCount == 1)
        for second in 18..<34 { _ = machine.handle(.timer, at: Self.second(Double(second))) }
        let again = machine.handle(.beatAnswered(beat, sentAt: Self.second(33)), at: Self.second(34))
        #expect(!again.contains(.discard(leases[0].key, keepsBytes: true)), "a beat may name it again")
    }

    @Test func anAnswerOfTheGateAfterTheDeadlinePublishesNothing() {
        var (machine, file) = Self.atGate()
        let key = file.file.key
        let actions = machine.handle(.gated([key], held: [key]), at: Self.second(1 + 42))
        #expect(!actions.contains { if case .publish = $0 { true } else { false } })
        #expect(!machine.mayPublish(at: Self.second(43)))
        // The confirmed beat opens a new gate. The old answer has no effect.
        let beat = Beat(leaseTime: Self.second(60))
        let resumed = machine.handle(.beatAnswered(beat, sentAt: Self.second(43)), at: Self.second(44))
        #expect(resumed.contains(.call(.gate([key]))))
        #expect(machine.handle(.gated([key], held: [key]), at: Self.second(45)).contains(.publish([file])))
    }

    @Test func whatTheGateDoesNotHoldIsDiscarded() {
        var (machine, file) = Self.atGate()
        let key = file.file.key
        #expect(machine.handle(.gated([key], held: []), at: Self.second(5)).contains(.discard(key, keepsBytes: true)))
        #expect(machine.heldCount == 0)
    }

    @Test func anUnknownWorkerForgetsEverythingAndRegistersAsAnother() {
        var (machine, file) = Self.atGate()
        let key = file.file.key
        let unknown = FleetError(.workerUnknown, "dead")
        let actions = machine.handle(.callFailed(.gate([key]), unknown), at: Self.second(5))
        #expect(actions.contains(.discard(key, keepsBytes: true)) && machine.heldCount == 0)
        // The machine registers only after the calls of the former worker have been answered.
        while let next = machine.nextTimer, next < Self.second(200) { _ = machine.handle(.timer, at: next) }
        let calls: [WorkerEvent] = [
            .callFailed(.claim(limit: 64), unknown), .callFailed(.claim(limit: 63), unknown),
            .callFailed(.beat, unknown),
            .callFailed(.maintain, unknown),
        ]
        var all: [WorkerAction] = []
        for event in calls { all += machine.handle(event, at: Self.second(6)) }
        if let next = machine.nextTimer { all += machine.handle(.timer, at: next) }
        #expect(all.contains(.call(.register(predecessor: nil))))
    }

    @Test func aRefusedRegistrationEndsTheWorker() {
        var machine = WorkerMachine(settings: .init(), seed: 1)
        _ = machine.start(at: .zero)
        let error = FleetError(.databaseRefused, "run haul-fleet init")
        #expect(machine.handle(.callFailed(.register(predecessor: nil), error), at: Self.second(1)) == [.end(error)])
        #expect(machine.nextTimer == nil)
    }

    @Test func anUnreachableDatabaseIsAskedAgainForEver() {
        var machine = WorkerMachine(settings: .init(), seed: 1)
        var actions = machine.start(at: .zero)
        var last = Duration.zero
        for _ in 0..<200 {
            #expect(actions == [.call(.register(predecessor: nil))])
            #expect(machine.handle(.callFailed(.register(predecessor: nil), Self.unreachable), at: last).isEmpty)
            guard let next = machine.nextTimer else { return #expect(Bool(false)) }
            #expect(next > last && next <= last + Self.second(30))
            last = next
            actions = machine.handle(.timer, at: next)
        }
    }

    @Test func aStopReturnsWhatIsNotPastTheGate() {
        var (machine, file) = Self.atGate()
        let other = Self.lease(2)
        let key = file.file.key
        _ = machine.handle(.gated([key], held: [key]), at: Self.second(5))
        while let next = machine.nextTimer, next < Self.second(8) { _ = machine.handle(.timer, at: next) }
        _ = machine.handle(.claimed(Claim(leases: [other]), sentAt: Self.second(8)), at: Self.second(8))
        let actions = machine.handle(.stopRequested, at: Self.second(9))
        #expect(
            actions.contains(.suspend(other.key)) == actions.contains(.call(.report([Report(other.key, .returned)])))
        )
        #expect(machine.handle(.stopRequested, at: Self.second(9)).isEmpty)
    }

    @Test func aStopDoesNotWaitForADatabaseForEver() {
        var (machine, _) = Self.machine()
        _ = machine.handle(.claimed(Claim(), sentAt: Self.second(1)), at: Self.second(1))
        #expect(machine.handle(.stopRequested, at: Self.second(2)).contains(.call(.leave)))
        var now = Self.second(2)
        var actions = machine.handle(.callFailed(.leave, Self.unreachable), at: now)
        for _ in 0..<1000 where !machine.hasEnded {
            guard let next = machine.nextTimer else { break }
            now = next
            actions = machine.handle(.timer, at: now)
            if actions.contains(.call(.leave)) { _ = machine.handle(.callFailed(.leave, Self.unreachable), at: now) }
        }
        #expect(machine.hasEnded && now <= Self.second(13))
        #expect(actions == [.end(Self.unreachable)])
    }

    @Test func aResultThatTheDatabaseRefusesIsReplacedByOneThatSaysSo() {
        var (machine, _) = Self.machine()
        let leases = (1...4).map { Self.lease($0) }
        _ = machine.handle(.claimed(Claim(leases: leases), sentAt: Self.second(1)), at: Self.second(1))
        var queue = leases.flatMap { lease in
            machine.handle(
                .downloadEnded(
                    lease.key,
                    .failed(Failure("x", "\(lease.key.item)"), isRetryable: false, retryAfter: nil)
                ),
                at: Self.second(2)
            )
        }
        var done: Set<Int64> = []
        var failures: [Report] = []
        var now = Self.second(2)
        for _ in 0..<200 where done.count < 4 {
            let reports = queue.compactMap { action -> [Report]? in
                if case .call(.report(let reports)) = action { reports } else { nil }
            }
            queue = []
            for batch in reports {
                let isRefused = batch.contains { $0.outcome == .failed(Failure("x", "3")) }
                if !isRefused {
                    done.formUnion(batch.map(\.key.item))
                    failures += batch
                }
                let event: WorkerEvent =
                    isRefused
                    ? .callFailed(.report(batch), FleetError(.statementFailed, "bad", sqlState: "22021"))
                    : .reported(batch, accepted: Set(batch.map(\.key)))
                queue += machine.handle(event, at: now)
            }
            if queue.isEmpty, let next = machine.nextTimer {
                now = max(now, next)
                queue = machine.handle(.timer, at: now)
            }
        }
        #expect(done == [1, 2, 3, 4])
        #expect(
            failures.contains {
                $0.key.item == 3
                    && $0.outcome
                        == .failed(Failure("report", "The database refused the result of this item (SQLSTATE 22021)."))
            }
        )
    }

    @Test func aFullDestinationCostsFewAttempts() {
        var (machine, _) = Self.machine()
        var attempts = 0
        var returned = 0
        var now = Self.second(1)
        var item: Int64 = 0
        var pending: [WorkerAction] = [.call(.claim(limit: 64))]
        // Simulates 10 minutes in which every file fails at the destination.
        while now < Self.second(600) {
            guard !pending.isEmpty else {
                guard let next = machine.nextTimer else { break }
                now = max(now, next)
                pending = machine.handle(.timer, at: now)
                continue
            }
            let actions = pending
            pending = []
            for action in actions {
                switch action {
                case .call(.claim(let limit)):
                    let leases = (0..<limit).map { _ in
                        item += 1; return Self.lease(item)
                    }
                    pending += machine.handle(.claimed(Claim(leases: leases), sentAt: now), at: now)
                case .call(.beat):
                    pending += machine.handle(.beatAnswered(Beat(leaseTime: Self.second(60)), sentAt: now), at: now)
                case .call(.maintain): pending += machine.handle(.maintained(Maintenance()), at: now)
                case .begin(let lease):
                    pending += machine.handle(.downloadEnded(lease.key, .staged(Self.file(lease))), at: now)
                case .prepare(let file):
                    let error = FleetError(.destinationUnreachable, "full")
                    pending += machine.handle(.prepared(file.key, .failure(error)), at: now)
                case .call(.report(let reports)):
                    for report in reports {
                        if case .retry = report.outcome { attempts += 1 }
                        if report.outcome == .returned { returned += 1 }
                    }
                    pending += machine.handle(.reported(reports, accepted: Set(reports.map(\.key))), at: now)
                default: break
                }
            }
        }
        #expect(attempts >= 3 && attempts <= 20 && returned >= 40)
    }

    @Test func blockedHostsArePassedOnWhenTheyChange() {
        var (machine, _) = Self.machine()
        var now = Self.second(1)
        func beat(_ blocked: Double) -> [WorkerAction] {
            for _ in 0..<50 {
                guard let next = machine.nextTimer else { return [] }
                now = max(now, next)
                guard machine.handle(.timer, at: now).contains(.call(.beat)) else { continue }
                return machine.handle(
                    .beatAnswered(
                        Beat(leaseTime: Self.second(60), blockedHosts: [3: Self.second(blocked)]),
                        sentAt: now
                    ),
                    at: now
                )
            }
            return []
        }
        #expect(beat(100).contains(.blockHost(3, Self.second(100))))
        #expect(!beat(80).contains { if case .blockHost = $0 { true } else { false } })
        #expect(beat(200).contains(.blockHost(3, Self.second(200))))
    }

    @Test func theUnexpectedChangesNothing() {
        var (machine, file) = Self.atGate()
        let before = machine
        let key = LeaseKey(item: 9, epoch: 9)
        let events: [WorkerEvent] = [
            .downloadEnded(key, .staged(file.file)), .prepared(key, .success(file)), .leaseLost(key),
            .gated([key], held: [key]),
            .published([key: .published(tag: nil)]), .published([file.file.key: .published(tag: nil)]),
            .reported([], accepted: [key]), .left,
            .callFailed(.gate([key]), Self.unreachable), .callFailed(.leave, Self.unreachable),
            .prepared(file.file.key, .success(file)),
            .registered(Registration(worker: 9, leaseTime: .zero), sentAt: .zero),
            .callFailed(.register(predecessor: nil), FleetError(.workerUnknown, "x")),
        ]
        for event in events {
            #expect(machine.handle(event, at: Self.second(4)).isEmpty, "\(event)")
            #expect(machine == before, "\(event)")
        }
    }
}
