import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

@Suite(.timeLimit(.minutes(60)))
struct SystemNetworkMonitorTests {
    private static let needsRoot: Comment = "network namespaces need root and iproute2"

    private static let hasNetlink = (try? SystemCalls.openNetlink()).map { SystemCalls.close($0) } != nil
    private static let needsNetlink: Comment = "the system has no netlink, or forbids it"

    /// Makes a monitor of one namespace, without D-Bus.
    private func monitor(of namespace: NetworkNamespace) throws -> SystemNetworkMonitor {
        let descriptor = try namespace.inside { try SystemCalls.openNetlink() }
        return SystemNetworkMonitor { () throws(SystemCalls.Errno) in descriptor }
    }

    @Test(.enabled(if: NetworkNamespace.isPossible, needsRoot))
    func seesTheCablePulledOnTheOtherSideAndPutBack() async throws {
        let namespace = try NetworkNamespace()
        let monitor = try monitor(of: namespace)
        var statuses = monitor.statuses().makeAsyncIterator()
        func next(_ condition: (NetworkStatus) -> Bool) async -> NetworkStatus? {
            while let status = await statuses.next() {
                if condition(status) { return status }
            }
            return nil
        }
        let first = try #require(await statuses.next())
        #expect(first.interfaces?.map(\.name) == ["lo", "near"])
        #expect(!first.isOnline())
        #expect(first.hasDefaultRoute == false)

        try namespace.near("address", "add", "10.9.0.1/24", "dev", "near")
        try namespace.near("link", "set", "near", "up")
        try namespace.far("link", "set", "far", "up")
        let up = try #require(await next { $0.isOnline() })
        #expect(up.isOnline(via: .interface("near")))
        #expect(up.isOnline(via: .localAddress("10.9.0.1")))
        #expect(!up.isOnline(via: .interface("far")))

        try namespace.near("route", "add", "default", "via", "10.9.0.2")
        _ = try #require(await next { $0.hasDefaultRoute == true })

        try namespace.far("link", "set", "far", "down")
        let pulled = try #require(await next { !$0.isOnline() })
        #expect(!pulled.isOnline(via: .localAddress("10.9.0.1")))
        try namespace.far("link", "set", "far", "up")
        _ = try #require(await next { $0.isOnline() && $0.hasDefaultRoute == true })

        // When the link is switched off on this side, the kernel drops the route without a message.
        try namespace.near("link", "set", "near", "down")
        _ = try #require(await next { !$0.isOnline() && $0.hasDefaultRoute == false })
        try namespace.near("link", "delete", "near")
        let last = try #require(await next { $0.interfaces?.count == 1 })
        #expect(last.interfaces?.map(\.name) == ["lo"])

        monitor.stop()
        #expect(await statuses.next() == nil)
    }

    @Test(.enabled(if: NetworkNamespace.isPossible, needsRoot))
    func afterMoreNewsThanFitItKnowsTheEndOfThem() async throws {
        let namespace = try NetworkNamespace()
        let descriptor = try namespace.inside { try SystemCalls.openNetlink() }
        var size: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        // The messages accumulate before the monitor reads them.
        for number in 1...40 { try namespace.near("address", "add", "10.9.\(number).1/24", "dev", "near") }
        let monitor = SystemNetworkMonitor { () throws(SystemCalls.Errno) in descriptor }
        for await status in monitor.statuses() {
            guard status.interfaces?.last?.addresses.count == 40 else { continue }
            break
        }
        monitor.stop()
    }

    @Test func whereTheKernelRefusesNothingIsKnown() async throws {
        let monitor = SystemNetworkMonitor { () throws(SystemCalls.Errno) in
            throw SystemCalls.Errno(code: EPERM)
        }
        var statuses = monitor.statuses().makeAsyncIterator()
        #expect(await statuses.next() == .unknown)
    }

    @Test func whereTheSocketIsNoneNothingIsKnownAndItIsClosed() async throws {
        var pair: [Int32] = [-1, -1]
        #expect(socketpair(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0, &pair) == 0)
        let ours = pair[0]
        let monitor = SystemNetworkMonitor { () throws(SystemCalls.Errno) in ours }
        var statuses = monitor.statuses().makeAsyncIterator()
        #expect(await statuses.next() == .unknown)
        var byte: UInt8 = 0
        // The send fails once the other end is closed; until then it succeeds.
        while send(pair[1], &byte, 1, Int32(MSG_NOSIGNAL)) >= 0 || errno == EAGAIN {
            try await Task.sleep(for: .milliseconds(5))
        }
        close(pair[1])
    }

    @Test(.enabled(if: hasNetlink, needsNetlink))
    func closesItsSocketWhenStoppedAndWhenForgotten() async throws {
        for isStopped in [true, false] {
            let descriptor = try SystemCalls.openNetlink()
            let name = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")
            do {
                let monitor = SystemNetworkMonitor { () throws(SystemCalls.Errno) in descriptor }
                var statuses = monitor.statuses().makeAsyncIterator()
                _ = await statuses.next()
                if isStopped {
                    monitor.stop()
                    monitor.stop()
                    // Earlier changes may still be reported before the sequence ends.
                    while await statuses.next() != nil {}
                }
            }
            while Self.hasOpen(name) { try await Task.sleep(for: .milliseconds(5)) }
        }
    }

    private static func hasOpen(_ name: String) -> Bool {
        // A descriptor that is closed during the search is not the searched one.
        ((try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []).contains {
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) == name
        }
    }

    @Test(.enabled(if: hasNetlink, needsNetlink))
    func severalListenersHearTheSame() async throws {
        let monitor = SystemNetworkMonitor { () throws(SystemCalls.Errno) in
            try SystemCalls.openNetlink()
        }
        var first = monitor.statuses().makeAsyncIterator()
        var second = monitor.statuses().makeAsyncIterator()
        let status = await first.next()
        #expect(status?.interfaces?.contains { $0.isLoopback } == true)
        #expect(await second.next() != nil)
        monitor.stop()
        var late = monitor.statuses().makeAsyncIterator()
        #expect(await late.next() == nil)
    }

    @Test func theFirstStatusWaitsForTheMeterAndItsEndMeansUnknown() async throws {
        struct Meter: NetworkMeter {
            let stream: AsyncStream<Bool?>
            func readings() -> AsyncStream<Bool?> { stream }
        }
        let (stream, continuation) = AsyncStream.makeStream(of: Bool?.self)
        let monitor = SystemNetworkMonitor(meter: Meter(stream: stream)) { () throws(SystemCalls.Errno) in
            throw SystemCalls.Errno(code: EPERM)
        }
        var statuses = monitor.statuses().makeAsyncIterator()
        continuation.yield(true)
        #expect(await statuses.next()?.isMetered == true)
        continuation.finish()
        #expect(await statuses.next() == .unknown)
        monitor.stop()
        #expect(await statuses.next() == nil)
    }

    @Test func theNewestStatusReplacesThoseThatNobodyRead() async {
        let hub = StatusHub()
        var statuses = hub.statuses().makeAsyncIterator()
        hub.setLinks(.offline)
        hub.setMetered(nil)
        hub.setLinks(.online)
        hub.setMetered(true)
        hub.finish()
        #expect(await statuses.next()?.isMetered == true)
        #expect(await statuses.next() == nil)
    }

    @Test func aScriptedNetworkTellsWhatTheTestSays() async {
        let monitor = ScriptedNetworkMonitor(.offline)
        var statuses = monitor.statuses().makeAsyncIterator()
        #expect(await statuses.next() == .offline)
        monitor.status = .online
        monitor.status = .online
        #expect(await statuses.next() == .online)
        monitor.stop()
        #expect(await statuses.next() == nil)
    }
}
