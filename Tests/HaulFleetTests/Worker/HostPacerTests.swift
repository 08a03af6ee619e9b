import Foundation
import HaulKit
import Synchronization
import Testing

@testable import HaulFleet

/// Tests when a worker sends its requests to a host. The tests move the clock.
@Suite(.timeLimit(.minutes(60)))
struct HostPacerTests {
    private let url = "http://paced.example/file"

    private func lease(_ item: Int64, gap: Duration, after: Duration? = .zero, connections: Int? = nil) -> LeasedItem {
        LeasedItem(
            key: LeaseKey(item: item, epoch: 1),
            url: url,
            path: "file-\(item)",
            hostID: 7,
            connections: connections,
            gap: gap,
            startsAfter: after
        )
    }

    private func ask(_ pacer: HostPacer, _ log: SentLog, _ other: String? = nil) throws -> (any AdmissionWait)? {
        let number = log.add()
        let wait = pacer.admit(try #require(URL(string: other ?? url))) { log.decided(number, $0) }
        if wait == nil { log.decided(number, true) }
        return wait
    }

    @Test func aHostWithoutLimitsIsAskedAtOnce() throws {
        let (time, log) = (ManualTime(), SentLog())
        let pacer = HostPacer(.recording(SliceLog()), time: time.time)
        pacer.add(lease(1, gap: .zero))
        _ = try ask(pacer, log)
        #expect(log.sent == [0])
    }

    @Test func aRequestIsSentAtTheStartTimeOfItsLeaseAndNotBefore() async throws {
        let (time, log) = (ManualTime(), SentLog())
        let pacer = HostPacer(.recording(SliceLog()), time: time.time)
        pacer.add(lease(1, gap: .seconds(10)))
        pacer.add(lease(2, gap: .seconds(10), after: .seconds(10)))
        _ = try ask(pacer, log)
        _ = try ask(pacer, log)
        await time.move(by: .milliseconds(249), sleepers: 1)
        #expect(log.sent == [])
        await time.move(by: .milliseconds(1), sleepers: 1)
        await log.wait(for: 1)
        await time.move(by: .seconds(9), sleepers: 1)
        #expect(log.sent == [0])
        await time.move(by: .seconds(1), sleepers: 1)
        await log.wait(for: 2)
        #expect(log.sent == [0, 1])
    }

    @Test(arguments: [nil, Duration.seconds(-5)])
    func leasesThatWereTakenOverStartNothingByThemselves(_ after: Duration?) async throws {
        let (time, log, slices) = (ManualTime(), SentLog(), SliceLog(startsAfter: .seconds(3), gap: .seconds(10)))
        let pacer = HostPacer(.recording(slices), time: time.time)
        await time.move(by: .seconds(100), sleepers: 0)
        for item in 1...3 { pacer.add(lease(Int64(item), gap: .seconds(10), after: after)) }
        for _ in 0..<3 { _ = try ask(pacer, log) }
        await slices.wait(for: 1)
        #expect(log.sent == [])
        await time.move(by: .milliseconds(3_250), sleepers: 1)
        await log.wait(for: 1)
        #expect(log.sent == [0])
    }

    @Test func theQueueHearsOfABlockedHostOnce() throws {
        let (time, slices) = (ManualTime(), SliceLog())
        let pacer = HostPacer(.recording(slices), time: time.time)
        pacer.add(lease(1, gap: .seconds(10)))
        let place = try #require(URL(string: url))
        for _ in 0..<8 { pacer.answered(place, status: 503, retryAfter: .seconds(1)) }
        #expect(slices.blocks.map(\.1) == [.seconds(1)])
        pacer.answered(place, status: 503, retryAfter: .seconds(9))
        #expect(slices.blocks.map(\.1) == [.seconds(1), .seconds(9)])
    }

    @Test func aStartTimeThatHasPassedIsNotUsedLate() async throws {
        let (time, log, slices) = (ManualTime(), SentLog(), SliceLog(startsAfter: .seconds(3), gap: .seconds(10)))
        let pacer = HostPacer(.recording(slices), time: time.time)
        pacer.add(lease(1, gap: .seconds(10)))
        await time.move(by: .seconds(5), sleepers: 0)
        _ = try ask(pacer, log)
        await slices.wait(for: 1)
        await time.move(by: .milliseconds(3_249), sleepers: 1)
        #expect(log.sent == [])
        await time.move(by: .milliseconds(1), sleepers: 1)
        await log.wait(for: 1)
    }

    @Test func furtherRequestsTakeFurtherStartTimes() async throws {
        let (time, log, slices) = (ManualTime(), SentLog(), SliceLog(startsAfter: .seconds(10), gap: .seconds(10)))
        let pacer = HostPacer(.recording(slices), time: time.time)
        pacer.add(lease(1, gap: .seconds(10)))
        _ = try ask(pacer, log)
        await time.move(by: .milliseconds(250), sleepers: 1)
        await log.wait(for: 1)
        // Asks for a retry and for another range.
        _ = try ask(pacer, log)
        _ = try ask(pacer, log)
        await slices.wait(for: 1)
        #expect(slices.asked.first?.hostID == 7)
        await time.move(by: .milliseconds(10_250), sleepers: 1)
        await log.wait(for: 2)
    }

    @Test func aBlockedHostIsNotAskedAndTheQueueHearsOfIt() async throws {
        let (time, log, slices) = (ManualTime(), SentLog(), SliceLog())
        let pacer = HostPacer(.recording(slices), time: time.time)
        pacer.add(lease(1, gap: .zero))
        pacer.answered(try #require(URL(string: url)), status: 429, retryAfter: .seconds(30))
        #expect(slices.blocks.map(\.1) == [.seconds(30)])
        #expect(pacer.blockedTime(of: url) == .seconds(30))
        _ = try ask(pacer, log)
        await time.move(by: .seconds(29), sleepers: 1)
        #expect(log.sent == [])
        await time.move(by: .seconds(1), sleepers: 1)
        await log.wait(for: 1)
        #expect(pacer.blockedTime(of: url) == nil)
    }

    @Test(arguments: [(200, Duration.seconds(5)), (404, nil), (503, nil), (429, .zero)] as [(Int, Duration?)])
    func otherAnswersBlockNothing(status: Int, retryAfter: Duration?) throws {
        let slices = SliceLog()
        let pacer = HostPacer(.recording(slices), time: ManualTime().time)
        pacer.add(lease(1, gap: .zero))
        pacer.answered(try #require(URL(string: url)), status: status, retryAfter: retryAfter)
        #expect(slices.blocks.isEmpty)
    }

    @Test func aYearOfRetryAfterIsAnHour() throws {
        let slices = SliceLog()
        let pacer = HostPacer(.recording(slices), time: ManualTime().time)
        pacer.add(lease(1, gap: .zero))
        pacer.answered(try #require(URL(string: url)), status: 503, retryAfter: .seconds(31_536_000))
        #expect(slices.blocks.map(\.1) == [.seconds(3600)])
    }

    @Test func aCancelledRequestIsNotSent() async throws {
        let (time, log) = (ManualTime(), SentLog())
        let pacer = HostPacer(.recording(SliceLog()), time: time.time)
        pacer.add(lease(1, gap: .seconds(10)))
        let wait = try ask(pacer, log)
        wait?.cancel()
        #expect(log.refused == [0])
        await time.move(by: .seconds(1), sleepers: 1)
        #expect(log.sent == [])
    }

    @Test func connectionsOfALimitedHostAreClosed() throws {
        let pacer = HostPacer(.recording(SliceLog()), time: ManualTime().time)
        let address = try #require(URL(string: url))
        let limited = lease(1, gap: .zero, connections: 2)
        #expect(!pacer.closesConnection(to: address))
        pacer.add(limited)
        #expect(pacer.closesConnection(to: address))
        pacer.release(limited)
        #expect(!pacer.closesConnection(to: address))
    }
}

/// Tests hosts that workers reach only through redirects.
@Suite(.timeLimit(.minutes(60)))
struct HostPacerRedirectTests {
    private let url = "http://elsewhere.example/file"

    private func ask(_ pacer: HostPacer, _ log: SentLog) throws {
        let number = log.add()
        if pacer.admit(try #require(URL(string: url)), decided: { log.decided(number, $0) }) == nil {
            log.decided(number, true)
        }
    }

    @Test func theQueueIsAskedOnceAMinuteForTheirLimits() async throws {
        let (time, log, slices) = (ManualTime(), SentLog(), SliceLog())
        let pacer = HostPacer(.recording(slices), time: time.time)
        try ask(pacer, log)
        await log.wait(for: 1)
        try ask(pacer, log)
        #expect(log.sent == [0, 1])
        #expect(slices.found == ["elsewhere.example"])
        await time.move(by: .seconds(61), sleepers: 0)
        try ask(pacer, log)
        await log.wait(for: 3)
        #expect(slices.found.count == 2)
    }

    @Test func eachRequestTakesAStartTime() async throws {
        let limits = ["elsewhere.example": HostLimits(hostID: 9, gap: .seconds(10))]
        let (time, log) = (ManualTime(), SentLog())
        let slices = SliceLog(startsAfter: .seconds(2), gap: .seconds(10), limits: limits)
        let pacer = HostPacer(.recording(slices), time: time.time)
        try ask(pacer, log)
        await slices.wait(for: 1)
        #expect(slices.asked.first?.hostID == 9)
        await time.move(by: .milliseconds(2_249), sleepers: 1)
        #expect(log.sent == [])
        await time.move(by: .milliseconds(1), sleepers: 1)
        await log.wait(for: 1)
    }

    @Test func aBlockHoldsAndAnAnswerBlocksForAll() async throws {
        let limits = ["elsewhere.example": HostLimits(hostID: 9, isLimited: true, blocked: .seconds(30))]
        let (time, log, slices) = (ManualTime(), SentLog(), SliceLog(limits: limits))
        let pacer = HostPacer(.recording(slices), time: time.time)
        try ask(pacer, log)
        await time.move(by: .seconds(29), sleepers: 1)
        #expect(log.sent == [])
        await time.move(by: .seconds(1), sleepers: 1)
        await log.wait(for: 1)
        let address = try #require(URL(string: url))
        #expect(pacer.closesConnection(to: address))
        pacer.answered(address, status: 429, retryAfter: .seconds(7))
        #expect(slices.blocks.map(\.0) == [9])
        #expect(pacer.blockedTime(of: url) == .seconds(7))
    }

    @Test func withoutTheDatabaseTheyAreAskedAllTheSame() async throws {
        let (time, log) = (ManualTime(), SentLog())
        var calls = HostPacer.Calls.recording(SliceLog())
        calls.find = { _ throws(FleetError) in throw FleetError(.databaseUnreachable, "It is away.") }
        try ask(HostPacer(calls, time: time.time), log)
        await log.wait(for: 1)
    }
}

// MARK: Doubles

/// A clock that moves only when a test moves it.
private final class ManualTime: Sendable {
    private struct State {
        var now = Duration.zero
        var sleepers: [(until: Duration, continuation: CheckedContinuation<Void, Never>)] = []
    }
    private let state = Mutex(State())

    var time: HostPacer.Time {
        .init(now: { self.state.withLock(\.now) }, sleep: { await self.sleep(until: $0) })
    }

    private func sleep(until: Duration) async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if until <= state.now { return true }
                state.sleepers.append((until, continuation))
                return false
            }
            if isOver { continuation.resume() }
        }
    }

    /// Waits until `sleepers` tasks sleep, and moves the clock.
    func move(by duration: Duration, sleepers: Int) async {
        while state.withLock({ $0.sleepers.count }) < sleepers { await Task.yield() }
        let due = state.withLock { state in
            state.now += duration
            defer { state.sleepers.removeAll { $0.until <= state.now } }
            return state.sleepers.filter { $0.until <= state.now }
        }
        for sleeper in due { sleeper.continuation.resume() }
    }
}

private final class SentLog: Sendable {
    private let state = Mutex((count: 0, sent: [Int](), refused: [Int]()))
    var sent: [Int] { state.withLock(\.sent) }
    var refused: [Int] { state.withLock(\.refused) }

    func add() -> Int {
        state.withLock { state in
            state.count += 1
            return state.count - 1
        }
    }

    func decided(_ number: Int, _ isAdmitted: Bool) {
        state.withLock { isAdmitted ? $0.sent.append(number) : $0.refused.append(number) }
    }

    func wait(for count: Int) async {
        while sent.count < count { await Task.yield() }
    }
}

/// Records calls to the queue, and answers each with the same slice.
private final class SliceLog: Sendable {
    let slice: RequestSlice
    private let limits: [String: HostLimits]
    private let state = Mutex(
        (asked: [(hostID: Int32, count: Int)](), blocks: [(Int32, Duration)](), found: [String]())
    )
    /// Hosts whose limits were requested.
    var found: [String] { state.withLock(\.found) }
    var asked: [(hostID: Int32, count: Int)] { state.withLock(\.asked) }
    var blocks: [(Int32, Duration)] { state.withLock(\.blocks) }

    init(startsAfter: Duration = .zero, gap: Duration = .zero, limits: [String: HostLimits] = [:]) {
        self.limits = limits
        slice = RequestSlice(startsAfter: startsAfter, gap: gap)
    }

    func reserve(_ hostID: Int32, _ count: Int) -> RequestSlice {
        state.withLock { $0.asked.append((hostID, count)) }
        return slice
    }

    func block(_ hostID: Int32, _ duration: Duration) { state.withLock { $0.blocks.append((hostID, duration)) } }

    func find(_ name: String) -> HostLimits? {
        state.withLock { $0.found.append(name) }
        return limits[name]
    }

    func wait(for count: Int) async {
        while asked.count < count { await Task.yield() }
    }
}

extension HostPacer.Calls {
    fileprivate static func recording(_ log: SliceLog) -> Self {
        .init(
            reserve: { id, count in log.reserve(id, count) },
            find: { log.find($0) },
            block: { log.block($0, $1) },
            onBlocked: { _, _ in }
        )
    }
}
