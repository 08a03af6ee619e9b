import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Messages to hooks about real downloads.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct HookFaultTests {
    private let content = TestContent.first

    /// Returns all messages that a webhook got while `test` ran, in order.
    private func told(
        serving handler: @escaping DownloaderRig.Handler,
        during test: (DownloaderRig) async throws -> Void
    ) async throws -> [[String: Any]] {
        // The receiver has its own server, because the answers of the downloads' server depend on the number of the
        // request.
        let receiver = try await TestServer.start { _ in .empty(200, "OK") }
        let url = try #require(URL(string: receiver.url("/hook")))
        try await DownloaderRig.run(serving: handler) { rig in
            try await rig.downloader.update { $0.hooks.actions = [.webhook(url, on: Set(HookEvent.allCases))] }
            try await test(rig)
            #expect(await rig.downloader.waitForHooks(within: .seconds(3600)))
        }
        let bodies = try receiver.requests.map {
            try #require(JSONSerialization.jsonObject(with: Data($0.body)) as? [String: Any])
        }
        await receiver.stop()
        return bodies
    }

    private func events(_ bodies: [[String: Any]]) -> [String?] { bodies.map { $0["event"] as? String } }

    @Test func tellsStartAndEndAndThatAllHaveEnded() async throws {
        let resource = content.resource()
        let bodies = try await told(serving: { resource.reply(to: $0) }) { rig in
            try await rig.download {
                $0.key = "lesson 1"
                $0.group = "course"
                $0.owner = "ada"
                $0.metadata = DownloadRequest.Metadata(json: #"{"cover":1}"#)
            }
        }
        // The two messages of the end come in either order.
        try #require(Set(events(bodies)) == ["started", "completed", "group-ended", "all-completed"])
        try #require(events(bodies).prefix(2) == ["started", "completed"])
        let completed = bodies[1]
        #expect((completed["path"] as? String)?.hasSuffix("/downloads/file.bin") == true)
        #expect(completed["bytes"] as? Int64 == content.count)
        #expect(completed["total"] as? Int64 == content.count)
        #expect(completed["key"] as? String == "lesson 1")
        #expect(completed["group"] as? String == "course")
        #expect(completed["owner"] as? String == "ada")
        #expect((completed["metadata"] as? [String: Any])?["cover"] as? Int == 1)
        #expect(completed["startedAt"] != nil && completed["endedAt"] != nil)
        let all = try #require(bodies.first { $0["event"] as? String == "all-completed" })
        #expect(all["completed"] as? Int == 1)
        #expect(all["failed"] as? Int == 0)
        let group = try #require(bodies.first { $0["event"] as? String == "group-ended" })
        #expect(group["group"] as? String == "course")
        #expect(group["completed"] as? Int == 1)
        #expect(group["failed"] as? Int == 0)
        #expect(group["bytes"] as? Int64 == content.count)
        #expect(group["id"] == nil)
    }

    @Test func tellsTheEndOfAGroupOnceForAllOfIt() async throws {
        let resource = content.resource()
        let bodies = try await told(serving: { request in
            request.target.hasPrefix("/missing") ? .empty(404, "Not Found") : resource.reply(to: request)
        }) { rig in
            func request(_ name: String, _ group: String?) throws -> DownloadRequest {
                try rig.request("/\(name)") {
                    ($0.destination, $0.group) = (.file(path: rig.folder + "/" + name), group)
                }
            }
            let group = rig.downloader.group("g")
            try await group.expectMore {
                _ = try await rig.downloader.add(request("a", "g")).result()
                _ = await rig.downloader.add([
                    try request("missing", "g"), try request("b", "g"), try request("c", nil),
                ])
            }
            #expect(try await group.result().count == 3)
            _ = try await rig.downloader.waitUntilIdle()
            // The group ends again after a later download, but not after a mere pause.
            _ = try await rig.downloader.add(request("d", "g")).result()
            #expect(try await group.result().count == 4)
        }
        let groups = bodies.filter { $0["event"] as? String == "group-ended" }
        #expect(groups.map { $0["group"] as? String } == ["g", "g"])
        #expect(groups.map { $0["completed"] as? Int } == [2, 3])
        #expect(groups.map { $0["failed"] as? Int } == [1, 1])
    }

    @Test func tellsTheEndOfAGroupOfWhichTheRestIsPaused() async throws {
        let (resource, silent) = (content.resource(), content.resource().silent(after: cut))
        let bodies = try await told(serving: { request in
            request.target == "/silent" ? silent.reply(to: request) : resource.reply(to: request)
        }) { rig in
            func add(_ name: String) async throws -> Download {
                try await rig.downloader.add(
                    try rig.request("/\(name)") {
                        ($0.destination, $0.group) = (.file(path: rig.folder + "/" + name), "g")
                    }
                )
            }
            let rest = try await add("silent")
            await rest.reaches(cut)
            _ = try await add("a").result()
            try await rig.downloader.pause(.group("g"))
            #expect(try await rig.downloader.group("g").result().paused == 1)
        }
        let groups = bodies.filter { $0["event"] as? String == "group-ended" }
        #expect(groups.map { $0["paused"] as? Int } == [1])
        #expect(groups.map { $0["completed"] as? Int } == [1])
    }

    @Test func tellsAFailureAndItsReason() async throws {
        let bodies = try await told(serving: { _ in .empty(404, "Not Found") }) { rig in
            _ = try await rig.failure()
        }
        try #require(events(bodies) == ["started", "failed", "all-completed"])
        #expect((bodies[1]["error"] as? [String: Any])?["status"] as? Int == 404)
        #expect(bodies[2]["failed"] as? Int == 1)
    }

    @Test func tellsOneStartOfARunThatWasPaused() async throws {
        let bodies = try await told(serving: content.resource().silentFirst()) { try await $0.interrupted() }
        #expect(events(bodies) == ["started", "completed", "all-completed"])
    }

    @Test func tellsNoEndOfWhatTheUserCancelled() async throws {
        let silent = content.resource().silent(after: cut)
        let bodies = try await told(serving: { silent.reply(to: $0) }) { rig in
            let download = try await rig.downloader.add(try rig.request())
            await download.reaches(cut)
            try await download.cancel()
        }
        #expect(events(bodies) == ["started"])
    }

    @Test func tellsTheEndOfAllOnceForAWholeLot() async throws {
        let resource = content.resource()
        let bodies = try await told(serving: { resource.reply(to: $0) }) { rig in
            await rig.downloader.expectMoreDownloads(true)
            for name in ["a", "b", "c"] {
                // Each download ends before the next is added.
                try await rig.download("/\(name)") { $0.destination = .file(path: rig.folder + "/" + name) }
            }
            await rig.downloader.expectMoreDownloads(false)
        }
        #expect(events(bodies).filter { $0 == "all-completed" }.count == 1)
        #expect(events(bodies).last == "all-completed")
        #expect(bodies.last?["completed"] as? Int == 3)
    }

    @Test func tellsNothingAboutAShutDown() async throws {
        let silent = content.resource().silent(after: cut)
        let bodies = try await told(serving: { silent.reply(to: $0) }) { rig in
            let download = try await rig.downloader.add(try rig.request())
            await download.reaches(cut)
            await rig.downloader.shutDown()
        }
        #expect(events(bodies) == ["started"])
    }

    @Test func aHookThatFailsHarmsNoDownload() async throws {
        try await DownloaderRig.run(
            serving: content.resource(),
            configure: { $0.hooks.limits.webhookRetry.base = .milliseconds(1) }
        ) { rig in
            let nobody = try #require(URL(string: "http://\(DownloaderRig.nobody)/"))
            let noURL = try #require(URL(string: "file:///etc"))
            let all = Set(HookEvent.allCases)
            let actions: [Downloader.Hook] = [
                .command(path: "/nowhere/hook", on: all), .command(path: "", on: all), .webhook(nobody, on: all),
                .webhook(noURL, on: all), .desktopNotification(on: all),
            ]
            try await rig.downloader.update { $0.hooks.actions = actions }
            try await rig.download()
            #expect(try rig.holdsOnly(content))
        }
    }
}
