import Foundation
import HaulTesting
import Synchronization
import Testing

@testable import HaulCore
@testable import HaulKit

/// Requests that wait until a `RequestAdmission` outside the downloader admits them.
@Suite(.timeLimit(.minutes(60)))
struct RequestAdmissionFaultTests {
    private let content = TestContent.first

    private func run(
        _ admission: ScriptedAdmission,
        serving handler: @escaping DownloaderRig.Handler,
        _ test: (DownloaderRig) async throws -> Void
    ) async throws {
        try await DownloaderRig.run(configure: { $0.network.admission = admission }, serving: handler, test)
    }

    @Test func asksBeforeEachRequestAndEachRedirect() async throws {
        let resource = content.resource()
        let admission = ScriptedAdmission()
        try await run(
            admission,
            serving: { request in
                request.path == "/file.bin" ? .redirect(to: "/there") : resource.reply(to: request)
            }
        ) { rig in
            try await rig.download()
            #expect(try rig.holdsOnly(content))
            #expect(admission.asked == rig.server.requests.map(\.path))
            #expect(admission.statuses == [302, 200])
        }
    }

    @Test func sendsNothingBeforeItIsAdmitted() async throws {
        let resource = content.resource()
        let admission = ScriptedAdmission(holdsBack: true)
        try await run(admission, serving: { resource.reply(to: $0) }) { rig in
            let download = try await rig.downloader.add(rig.request())
            while admission.asked.isEmpty { await Task.yield() }
            #expect(rig.server.requests.isEmpty)
            admission.admitAll()
            _ = try await download.result()
            #expect(try rig.holdsOnly(content))
        }
    }

    @Test func aDownloadThatWaitsForAdmissionCanBePausedAndResumed() async throws {
        let resource = content.resource()
        let admission = ScriptedAdmission(holdsBack: true)
        try await run(admission, serving: { resource.reply(to: $0) }) { rig in
            let download = try await rig.downloader.add(rig.request())
            while admission.asked.isEmpty { await Task.yield() }
            try await download.pause()
            while admission.cancelled == 0 { await Task.yield() }
            #expect(rig.server.requests.isEmpty)
            admission.admitAll()
            try await download.resume()
            _ = try await download.result()
            #expect(try rig.holdsOnly(content))
        }
    }

    @Test func tellsWhatRetryAfterAsksFor() async throws {
        let resource = content.resource()
        let admission = ScriptedAdmission()
        try await run(
            admission,
            serving: { request in
                guard request.requestNumber == 1 else { return resource.reply(to: request) }
                // The server's clock may be wrong, because the date counts from the `Date` of the answer.
                return .empty(
                    503,
                    "Service Unavailable",
                    headers: [
                        ("Date", "Sun, 06 Nov 1994 08:49:30 GMT"), ("Retry-After", "Sun, 06 Nov 1994 08:49:37 GMT"),
                    ]
                )
            }
        ) { rig in
            try await rig.download()
            #expect(admission.statuses.first == 503)
            #expect(admission.delays.first == .seconds(7))
        }
    }

    @Test func asksForTheEndOfAConnectionWhereIdleOnesCount() async throws {
        let resource = content.resource()
        let admission = ScriptedAdmission(closes: true)
        try await run(admission, serving: { resource.reply(to: $0) }) { rig in
            try await rig.download()
            #expect(rig.server.requests.allSatisfy { $0["Connection"]?.lowercased() == "close" })
        }
    }
}

/// Admits requests at once or when told to, and records them.
private final class ScriptedAdmission: RequestAdmission {
    private struct State {
        var holdsBack: Bool
        var asked: [String] = []
        var waiting: [Int: @Sendable (Bool) -> Void] = [:]
        var cancelled = 0
        var answers: [(Int, Duration?)] = []
    }
    private let state: Mutex<State>
    private let closes: Bool

    init(holdsBack: Bool = false, closes: Bool = false) {
        state = Mutex(State(holdsBack: holdsBack))
        self.closes = closes
    }

    var asked: [String] { state.withLock(\.asked) }
    var cancelled: Int { state.withLock(\.cancelled) }
    var statuses: [Int] { state.withLock { $0.answers.map(\.0) } }
    var delays: [Duration?] { state.withLock { $0.answers.map(\.1) } }

    func admit(_ url: URL, decided: @escaping @Sendable (Bool) -> Void) -> (any AdmissionWait)? {
        let number: Int? = state.withLock { state in
            state.asked.append(url.path)
            guard state.holdsBack else { return nil }
            state.waiting[state.asked.count] = decided
            return state.asked.count
        }
        guard let number else { return nil }
        return Wait(admission: self, number: number)
    }

    func admitAll() {
        let waiting = state.withLock { state in
            state.holdsBack = false
            defer { state.waiting = [:] }
            return state.waiting.values.map(\.self)
        }
        for decided in waiting { decided(true) }
    }

    private struct Wait: AdmissionWait {
        let admission: ScriptedAdmission
        let number: Int

        func cancel() { admission.cancel(number) }
    }

    private func cancel(_ number: Int) {
        let decided = state.withLock { state in
            let decided = state.waiting.removeValue(forKey: number)
            if decided != nil { state.cancelled += 1 }
            return decided
        }
        decided?(false)
    }

    func closesConnection(to url: URL) -> Bool { closes }

    func answered(_ url: URL, status: Int, retryAfter: Duration?) {
        state.withLock { $0.answers.append((status, retryAfter)) }
    }
}
