import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Line 11 of `docs/practice-list.md` for one connection: a server that asks for a delay gets it, within bounds.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct RetryAfterFaultTests {
    private let content = TestContent.first

    private func busy(_ status: Int, _ retryAfter: String?) -> TestReply {
        .empty(status, "Later", headers: retryAfter.map { [("Retry-After", $0)] } ?? [])
    }

    /// Answers `times` requests with `status`, then serves the file.
    private func busyFirst(_ status: Int, _ retryAfter: String?, times: Int = 1) -> DownloaderRig.Handler {
        let resource = content.resource()
        let busy = busy(status, retryAfter)
        return { $0.requestNumber <= times ? busy : resource.reply(to: $0) }
    }

    /// Returns the snapshot of a download that waits because of `retryAfter`. The wait itself is cut short.
    private func wait(_ status: Int, _ retryAfter: String, cap: Duration) async throws -> DownloadSnapshot {
        var found: DownloadSnapshot?
        try await DownloaderRig.run(
            configure: { $0.retry.retryAfterCap = cap },
            serving: busyFirst(status, retryAfter)
        ) { rig in
            let download = try await rig.downloader.add(try rig.request())
            for await event in download.events {
                guard case .changed(let snapshot) = event, snapshot.state == .waiting else { continue }
                found = snapshot
                break
            }
            // A pause and a resumption end the wait.
            try await download.pause()
            try await download.resume()
            _ = try await download.result()
            #expect(try rig.holdsOnly(content))
        }
        return try #require(found)
    }

    @Test(arguments: [429, 503])
    func waitsAsManySecondsAsTheServerAsks(_ status: Int) async throws {
        let snapshot = try await wait(status, "3000", cap: .seconds(7200))
        #expect(snapshot.error?.code == .refusedByServer)
        #expect(snapshot.error?.status == status)
        let wait = try #require(snapshot.retryDelay)
        #expect(wait > .seconds(1500) && wait <= .seconds(3000))
    }

    @Test func waitsUntilTheDateThatTheServerNames() async throws {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "GMT")
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        let date = formatter.string(from: Date(timeIntervalSinceNow: 3000))
        let wait = try #require(try await wait(503, date, cap: .seconds(7200)).retryDelay)
        #expect(wait > .seconds(1500) && wait <= .seconds(3001))
    }

    @Test(arguments: ["99999999", "99999999999999999999999999", "Fri, 31 Dec 9999 23:59:59 GMT"])
    func doesNotWaitLongerThanItsOwnBound(_ retryAfter: String) async throws {
        let wait = try #require(try await wait(429, retryAfter, cap: .seconds(600)).retryDelay)
        #expect(wait <= .seconds(600))
    }

    @Test(arguments: ["soon", "-5", "", "1.5e9", "12 parsecs", "Sun, 06 Nov 1994 08:49:37 GMT", "0"])
    func choosesItsOwnWaitWhenTheServersMakesNoSenseOrIsOver(_ retryAfter: String) async throws {
        try await DownloaderRig.run(
            configure: { $0.retry.retryAfterCap = .seconds(7200) },
            serving: busyFirst(503, retryAfter, times: 3)
        ) { rig in
            try await rig.download()
            #expect(try rig.holdsOnly(content))
            #expect(rig.server.requests.count == 4)
        }
    }

    @Test(arguments: [408, 425, 429, 500, 502, 503, 504, 511, 520, 599])
    func asksAgainAfterAFaultThatPasses(_ status: Int) async throws {
        try await DownloaderRig.run(serving: busyFirst(status, nil, times: 4)) { rig in
            try await rig.download()
            #expect(try rig.holdsOnly(content))
            #expect(rig.server.requests.count == 5)
        }
    }

    @Test func keepsWhatArrivedWhileTheServerIsBusy() async throws {
        let resource = content.resource()
        let busy = busy(503, "0")
        try await DownloaderRig.run(
            serving: resource.silentFirst { $0.requestNumber < 5 ? busy : resource.reply(to: $0) }
        ) {
            rig in
            try await rig.interrupted()
            #expect(try rig.holdsOnly(content))
            #expect(rig.ranges == [nil] + Array(repeating: "bytes=\(cut)-", count: 4))
        }
    }

    @Test func givesUpOnAServerThatStaysBusy() async throws {
        try await DownloaderRig.run(serving: { [busy = busy(503, "0")] _ in busy }) { rig in
            let error = try await rig.failure()
            #expect(error.status == 503)
            #expect(rig.server.requests.count == 7)
        }
    }
}
