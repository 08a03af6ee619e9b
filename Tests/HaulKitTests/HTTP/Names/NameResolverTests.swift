import Dispatch
import Synchronization
import Testing

@testable import HaulCore
@testable import HaulKit

/// Name lookups on threads of their own, some of which never get an answer.
@Suite(.timeLimit(.minutes(60)))
struct NameResolverTests {
    private typealias Result = Swift.Result<NameResolver.Answer, TransportError>

    /// DNS servers that do not answer for names beginning with `silent` until ``speak()``.
    private final class Servers: Sendable {
        private let asked = Mutex<[String]>([])
        private let silence = DispatchSemaphore(value: 0)
        private let silent = Mutex(0)

        var names: [String] { asked.withLock(\.self) }

        @Sendable func lookUp(_ name: String) -> Swift.Result<[ResolvedAddress], TransportError> {
            asked.withLock { $0.append(name) }
            if name.hasPrefix("silent") {
                silent.withLock { $0 += 1 }
                silence.wait()
            }
            return name.hasPrefix("missing")
                ? .failure(TransportError(.nameNotResolved)) : .success([ResolvedAddress("192.0.2.1")])
        }

        /// Answers all waiting lookups, because their threads must not outlive the test.
        func speak() { for _ in 0..<silent.withLock({ $0 }) { silence.signal() } }

        func areAsked(_ count: Int) async { while names.count < count { await Task.yield() } }
    }

    /// Timers that expire when the test calls `runOut`.
    private final class Timers: Sendable {
        private let bodies = Mutex<[Int: @Sendable () -> Void]>([:])
        private let last = Mutex(0)
        var count: Int { bodies.withLock(\.count) }

        @Sendable func start(_ time: Duration, _ body: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
            let id = last.withLock { last in
                last += 1
                return last
            }
            bodies.withLock { $0[id] = body }
            return { self.bodies.withLock { $0[id] = nil } }
        }

        func runOut() {
            let all = bodies.withLock { bodies in
                defer { bodies = [:] }
                return bodies.values.map(\.self)
            }
            for body in all { body() }
        }
    }

    private let servers = Servers()
    private let timers = Timers()
    private let clock = HandClock()

    private func resolver(
        threads: Int = 64,
        perDownload: Int = 8,
        startThread: @escaping DetachedThread.Starter = DetachedThread.start
    ) -> NameResolver {
        NameResolver(
            limits: .init(threads: threads, perDownload: perDownload),
            lookUp: servers.lookUp,
            startThread: startThread,
            timer: timers.start,
            now: clock.read
        )
    }

    private func answer(_ names: NameResolver, _ name: String, for download: DownloadID? = nil) async -> Result {
        await withCheckedContinuation { continuation in
            names.resolve(name, for: download, within: .seconds(5)) { continuation.resume(returning: $0) }
        }
    }

    private func start(_ names: NameResolver, _ name: String, for download: DownloadID? = nil) -> (
        id: Int, result: @Sendable () -> Result?
    ) {
        let result = Box()
        let id = names.resolve(name, for: download, within: .seconds(5)) { given in result.value.withLock { $0 = given }
        }
        return (id, { result.value.withLock(\.self) })
    }

    private final class Box: Sendable { let value = Mutex<Result?>(nil) }

    @Test func silentNamesDelayNoOther() async throws {
        let names = resolver()
        let silent = (0..<10).map { start(names, "silent\($0)") }
        for number in 0..<5 {
            #expect(try await answer(names, "good\(number)").get().addresses.map(\.text) == ["192.0.2.1"])
        }
        #expect(silent.allSatisfy { $0.result() == nil })
        servers.speak()
    }

    @Test func oneDownloadWithManySilentMirrorsDelaysNoOther() async throws {
        let names = resolver(threads: 12, perDownload: 4)
        let greedy = DownloadID()
        for number in 0..<20 { _ = start(names, "silent\(number)", for: greedy) }
        await servers.areAsked(4)
        for number in 0..<5 { _ = try await answer(names, "good\(number)", for: DownloadID()).get() }
        #expect(servers.names.count { $0.hasPrefix("silent") } == 4)
        names.cancelAll()
        servers.speak()
    }

    @Test func aSilentNameTimesOutAndCostsOneThread() async throws {
        let names = resolver(threads: 2)
        let first = start(names, "silent")
        await servers.areAsked(1)
        while timers.count < 1 { await Task.yield() }
        timers.runOut()
        #expect(first.result() == .failure(TransportError(.connectTimeout)))
        // The next attempt waits for the running lookup of the same name.
        let second = start(names, "silent")
        #expect(timers.count == 1)
        timers.runOut()
        #expect(second.result() == .failure(TransportError(.connectTimeout)))
        _ = try await answer(names, "good").get()
        #expect(servers.names == ["silent", "good"])
        servers.speak()
    }

    @Test func theTimeInTheLineDoesNotCount() async throws {
        let names = resolver(threads: 1)
        let silent = start(names, "silent")
        await servers.areAsked(1)
        while timers.count < 1 { await Task.yield() }
        let good = start(names, "good")
        timers.runOut()
        #expect(silent.result() == .failure(TransportError(.connectTimeout)))
        #expect(good.result() == nil)
        servers.speak()
        while good.result() == nil { await Task.yield() }
        #expect(good.result() == .success(.init(addresses: [ResolvedAddress("192.0.2.1")])))
    }

    @Test func aCancelledWaiterIsToldAtOnceAndOnce() async {
        let names = resolver(threads: 1)
        let calls = Mutex(0)
        let first = names.resolve("silent", for: nil, within: .seconds(5)) { _ in calls.withLock { $0 += 1 } }
        await servers.areAsked(1)
        let second = start(names, "never")
        names.cancel(first)
        names.cancel(second.id)
        names.cancel(second.id)
        #expect(calls.withLock(\.self) == 1)
        guard case .failure(let error)? = second.result() else { return #expect(Bool(false), "not told") }
        #expect(error.kind == .connectionLost)
        servers.speak()
        _ = await answer(names, "good")
        #expect(servers.names == ["silent", "good"])
        #expect(calls.withLock(\.self) == 1)
    }

    @Test func knowsANameForAWhileAndLooksItUpAgainWhileItIsUsed() async throws {
        let names = resolver()
        #expect(names.known("good") == nil)
        _ = await answer(names, "good")
        #expect(names.known("good")?.isProven == false)
        names.connected("good", to: ResolvedAddress("192.0.2.1"))
        #expect(names.known("good")?.isProven == true)
        #expect(servers.names == ["good"])
        clock.set(.start + .seconds(90))
        #expect(names.known("good")?.isProven == true)
        await servers.areAsked(2)
        names.failed("good")
        #expect(names.known("missing") == nil)
        #expect(await answer(names, "missing") == .failure(TransportError(.nameNotResolved)))
        #expect(names.known("missing") == nil)
    }

    @Test func localhostIsNotAskedAbout() {
        #expect(resolver().known("LocalHost")?.addresses.map(\.text) == ["::1", "127.0.0.1"])
        #expect(servers.names.isEmpty)
    }

    @Test func withoutThreadsItSaysSoAndWithFewItWaits() async throws {
        let none = resolver(startThread: { _ in 11 })
        guard case .failure(let error) = await answer(none, "good") else { return #expect(Bool(false), "resolved") }
        #expect(error.kind == .connectionFailed && error.detail.contains("no thread"))

        let started = Mutex(0)
        let few = resolver(startThread: { body in
            let isFirst = started.withLock { started in
                started += 1
                return started == 1
            }
            return isFirst ? DetachedThread.start(body) : 11
        })
        let silent = start(few, "silent")
        await servers.areAsked(1)
        let good = start(few, "good")
        #expect(good.result() == nil)
        servers.speak()
        while good.result() == nil || silent.result() == nil { await Task.yield() }
        #expect(good.result() == .success(.init(addresses: [ResolvedAddress("192.0.2.1")])))
    }
}
