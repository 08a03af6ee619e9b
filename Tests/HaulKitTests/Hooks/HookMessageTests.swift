import Foundation
import Testing

@testable import HaulCore
@testable import HaulKit

extension HookMessage {
    static func sample(
        _ event: HookEvent,
        _ change: (inout HookedDownload) -> Void = { _ in }
    ) throws -> HookMessage {
        let id = try #require(DownloadID("0190a000-0000-7000-8000-000000000001"))
        let url = try #require(URL(string: "https://user:secret@files.example/a.iso?token=secret"))
        var download = HookedDownload(id: id, url: url, bytes: 7)
        change(&download)
        return HookMessage(event: event, time: Date(timeIntervalSince1970: 1_770_000_000), subject: .download(download))
    }

    static func all(completed: Int, failed: Int) -> HookMessage {
        HookMessage(
            event: .allCompleted,
            time: Date(timeIntervalSince1970: 1_770_000_000),
            subject: .all(HookCounts(completed: completed, failed: failed))
        )
    }
}

/// The contents of messages to programs and webhooks.
struct HookMessageTests {
    private func object(_ message: HookMessage) throws -> [String: Any] {
        try #require(JSONSerialization.jsonObject(with: Data(message.json)) as? [String: Any])
    }

    @Test func givesAProgramEverythingInItsEnvironment() throws {
        let message = try HookMessage.sample(.failed) {
            $0.path = "/data/a.iso"
            $0.key = "course 1"
            $0.group = "spring"
            $0.owner = "ada"
            $0.metadata = DownloadRequest.Metadata(json: #"{"n":1}"#)
            $0.error = DownloadError(.diskFull, "The disk is full.", cause: "errno 28")
        }
        let expected = [
            "HAUL_EVENT": "failed", "HAUL_ID": "0190a000-0000-7000-8000-000000000001",
            "HAUL_URL": "https://***@files.example/a.iso?***", "HAUL_PATH": "/data/a.iso", "HAUL_BYTES": "7",
            "HAUL_KEY": "course 1", "HAUL_GROUP": "spring", "HAUL_OWNER": "ada", "HAUL_METADATA": #"{"n":1}"#,
            "HAUL_ERROR_CODE": "diskFull", "HAUL_ERROR": "The disk is full.",
        ]
        #expect(message.environment(over: [:]) == expected)
    }

    @Test func countsWhenAllHaveEnded() {
        let expected = ["HAUL_EVENT": "all-completed", "HAUL_COMPLETED": "3", "HAUL_FAILED": "1"]
        #expect(HookMessage.all(completed: 3, failed: 1).environment(over: [:]) == expected)
    }

    @Test func sumsUpAGroup() throws {
        let sums = DownloadSummary(open: 0, paused: 2, failed: 1, completed: 3, receivedBytes: 70, knownTotalBytes: 90)
        let message = HookMessage(
            event: .groupEnded,
            time: Date(timeIntervalSince1970: 1_770_000_000),
            subject: .group("spring", sums)
        )
        let expected = [
            "HAUL_EVENT": "group-ended", "HAUL_GROUP": "spring", "HAUL_COMPLETED": "3", "HAUL_FAILED": "1",
            "HAUL_PAUSED": "2", "HAUL_BYTES": "70",
        ]
        #expect(message.environment(over: ["HAUL_ID": "old"]) == expected)
        let json = String(decoding: message.json, as: UTF8.self)
        #expect(
            json == #"{"bytes":70,"completed":3,"event":"group-ended","failed":1,"group":"spring","paused":2,"#
                + #""time":"2026-02-02T02:40:00.000Z","total":90}"#
        )
        #expect(message.arguments.isEmpty)
        #expect(message.notice == ("Downloads ended", "spring: 3 complete, 1 failed, 2 paused"))
        let complete = HookMessage(
            event: .groupEnded,
            time: message.time,
            subject: .group("spring", DownloadSummary(open: 0, completed: 1))
        )
        #expect(complete.notice == ("Downloads complete", "spring: 1 file"))
    }

    @Test func keepsTheProcessesEnvironmentButNoOtherHooksVariables() throws {
        let base = ["PATH": "/bin", "HAUL_STATE_DIR": "/state", "HAUL_ERROR": "old", "HAUL_COMPLETED": "9"]
        let environment = try HookMessage.sample(.started).environment(over: base)
        #expect(environment["PATH"] == "/bin")
        #expect(environment["HAUL_STATE_DIR"] == "/state")
        #expect(environment["HAUL_ERROR"] == nil)
        #expect(environment["HAUL_COMPLETED"] == nil)
    }

    @Test func leavesOutWhatNoEnvironmentCanHold() throws {
        let message = try HookMessage.sample(.started) {
            $0.key = "a\0b"
            $0.group = String(repeating: "g", count: HookMessage.longestValue)
            $0.owner = String(repeating: "o", count: HookMessage.longestValue + 1)
        }
        let environment = message.environment(over: [:])
        #expect(environment["HAUL_KEY"] == nil)
        #expect(environment["HAUL_GROUP"]?.count == HookMessage.longestValue)
        #expect(environment["HAUL_OWNER"] == nil)
    }

    @Test(arguments: [HookEvent.started, .failed])
    func namesNoFileAsArgumentThatIsNotComplete(_ event: HookEvent) throws {
        #expect(try HookMessage.sample(event) { $0.path = "/data/a" }.arguments == [])
        #expect(try HookMessage.sample(.completed) { $0.path = "/data/a" }.arguments == ["/data/a"])
        #expect(HookMessage.all(completed: 1, failed: 0).arguments == [])
    }

    @Test func saysTheSameAsJSON() throws {
        let message = try HookMessage.sample(.failed) {
            $0.path = "/data/a"
            $0.total = 70
            $0.error = DownloadError(refusedWith: 404)
            $0.startedAt = Date(timeIntervalSince1970: 1_769_999_999.25)
        }
        let text = String(decoding: message.json, as: UTF8.self)
        #expect(
            text == #"{"bytes":7,"error":{"code":"refusedByServer","message":"The server answered 404 Not Found. "#
                + #"There is no such file at this URL.","status":404},"event":"failed","#
                + #""id":"0190a000-0000-7000-8000-000000000001","path":"/data/a","#
                + #""startedAt":"2026-02-02T02:39:59.250Z","time":"2026-02-02T02:40:00.000Z","total":70,"#
                + #""url":"https://***@files.example/a.iso?***"}"#
        )
        let all = try object(.all(completed: 3, failed: 1))
        #expect(all["completed"] as? Int == 3)
        #expect(all["failed"] as? Int == 1)
        #expect(all["id"] == nil)
    }

    @Test func embedsMetadataAsTheValueThatItIs() throws {
        let json = #"{"big":12345678901234567890.123,"list":[1,null]}"#
        let message = try HookMessage.sample(.started) { $0.metadata = DownloadRequest.Metadata(json: json) }
        #expect(String(decoding: message.json, as: UTF8.self).hasSuffix(#","metadata":\#(json)}"#))
        #expect(try object(message)["metadata"] is [String: Any])
    }

    @Test(arguments: ["{", "", "nonsense", "1}", "\0" + "1", "{} {}", #"1,"event":"forged""#])
    func makesAStringOfMetadataThatIsNoJSON(_ text: String) throws {
        let message = try HookMessage.sample(.started) { $0.metadata = DownloadRequest.Metadata(json: text) }
        #expect(try object(message)["metadata"] as? String == text)
        #expect(try object(message)["event"] as? String == "started")
    }

    @Test func hidesNoByteOrderMarkAmongOtherJSON() throws {
        let message = try HookMessage.sample(.started) { $0.metadata = DownloadRequest.Metadata(json: "\u{FEFF}{}") }
        #expect(Array(message.json).suffix(9) == Array(#":"\#u{FEFF}{}"}"#.utf8))
    }

    @Test func tellsPeopleTheNameAndTheReason() throws {
        let failed = try HookMessage.sample(.failed) {
            $0.path = "/data/a.iso"
            $0.error = DownloadError(.diskFull, "The disk is full.")
        }
        #expect(failed.notice == ("Download failed", "a.iso: The disk is full."))
        #expect(HookMessage.all(completed: 2, failed: 0).notice == ("Downloads complete", "2 files"))
        #expect(HookMessage.all(completed: 2, failed: 1).notice == ("Downloads ended", "2 complete, 1 failed"))
        #expect(try !HookMessage.sample(.started).notice.body.contains("secret"))
    }

    @Test func showsNoSecretOfAHook() throws {
        let url = try #require(URL(string: "https://u:hidden@h/hidden?hidden"))
        let hook = Downloader.Hook.webhook(url, secret: "hidden", on: [.started])
        #expect(!"\(hook)".contains("hidden"))
        #expect(!String(reflecting: [hook]).contains("hidden"))
    }
}
