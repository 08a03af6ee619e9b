import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Traces of downloads from a server that misbehaves. A trace can be replayed and contains no secret.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct TraceFaultTests {
    private static let secret = "sEcReT"

    /// Breaks off the answers whose request numbers are in `numbers`.
    private static func breaking(_ resource: FileResource, _ numbers: Set<Int>, at limit: Int64)
        -> DownloaderRig.Handler
    {
        { request in
            var resource = resource
            if numbers.contains(request.requestNumber) {
                resource.bodyLimit = limit
                resource.ending = .reset
            }
            return resource.reply(to: request)
        }
    }

    /// Runs a test with a trace, replays the trace and returns its text.
    @discardableResult
    private func traced(
        _ handler: @escaping DownloaderRig.Handler,
        configure: (inout Downloader.Configuration) -> Void = { _ in },
        _ test: (DownloaderRig) async throws -> Void
    ) async throws -> String {
        var text = ""
        try await DownloaderRig.run(
            configure: { configuration in
                configure(&configuration)
                configuration.telemetry.trace = try DownloadTrace(path: configuration.storage.stateFolder + ".trace")
            },
            serving: handler
        ) { rig in
            try await test(rig)
            #expect(await rig.configuration.telemetry.trace?.close() == nil)
            let path = rig.configuration.storage.stateFolder + ".trace"
            let result = try TraceReplay.run(contentsOf: path)
            #expect(result.difference == nil)
            #expect(result.steps >= 4)
            text = try rig.text(at: path)
            #expect(!text.contains(rig.root))
        }
        #expect(!text.contains(Self.secret))
        return text
    }

    @Test func replaysSeveralConnectionsOfWhichSomeBreak() async throws {
        let resource = TestContent.first.resource().paced()
        try await traced(Self.breaking(resource, [2, 3], at: 20_000), configure: { $0.share() }) { rig in
            try await rig.download()
        }
    }

    @Test func replaysAPausedDownloadOfWhichBlocksAreCompared() async throws {
        let resource = TestContent.first.resource(etag: "W/\"v1\"")
        let text = try await traced({ request in
            var resource = resource
            if request.requestNumber == 1 {
                resource.bodyLimit = cut
                resource.ending = .stall
            }
            return resource.reply(to: request)
        }) { rig in
            try await rig.interrupted()
        }
        #expect(text.contains("chooseBlocks"))
    }

    @Test func replaysADownloadWhoseFileChanges() async throws {
        let (old, new) = (TestContent.first.resource(), TestContent.second.resource(etag: "\"v2\""))
        let first = Self.breaking(old, [1], at: cut)
        try await traced({ $0.requestNumber == 1 ? first($0) : new.reply(to: $0) }) { rig in
            try await rig.download()
        }
    }

    @Test func replaysARefusedDownload() async throws {
        try await traced({ _ in .empty(404, "Not Found") }) { rig in
            let error = try await rig.failure()
            #expect(error.code == .refusedByServer)
        }
    }

    @Test func hasNoSecretOfURLsHeaderFieldsAndCookies() async throws {
        let secret = Self.secret
        let text = try await traced({ request in
            var resource = TestContent.first.resource()
            resource.extraHeaders = [
                ("Set-Cookie", "session=\(secret)"), ("X-Token", secret),
                ("Authentication-Info", "nextnonce=\(secret)"),
                ("Link", "</other.bin?sig=\(secret)>; rel=duplicate"),
                ("Content-Disposition", "attachment; filename=named.bin"),
            ]
            return Self.breaking(resource, [1], at: cut)(request)
        }) { rig in
            let url = rig.server.url("/file.bin?token=\(secret)&\(secret)#\(secret)")
                .replacing("http://", with: "http://user:\(secret)@")
            try await rig.download(
                try rig.request(url: url) {
                    $0.headers = [HeaderField("X-Key", secret), HeaderField("Cookie", "a=\(secret)")].compactMap { $0 }
                }
            )
        }
        #expect(text.contains("file.bin?token=*"))
        #expect(text.contains("other.bin?sig=*"))
        #expect(text.contains("named.bin"))
    }

    @Test func hasNoSecretOfTheApplicationsLinks() async throws {
        let (secret, resource, links) = (Self.secret, TestContent.first.resource(), CallCounter())
        let server = Place()
        let text = try await traced(
            { request in
                request.target.hasSuffix("\(secret)2") ? resource.reply(to: request) : .empty(403, "Forbidden")
            },
            configure: { configuration in
                configuration.sources.provider = { _ in
                    let text = server() + "/file.bin?token=\(secret)\(links.next())"
                    guard let url = URL(string: text) else { throw CancellationError() }
                    return DownloadSource(url)
                }
            }
        ) { rig in
            server.set(rig.server.url(""))
            try await rig.download(DownloadRequest(key: "key-\(secret)", to: .file(path: rig.path)))
        }
        #expect(text.contains("askForSource"))
    }

    @Test func aFullDiskEndsTheTraceAndNotTheDownload() async throws {
        let descriptor = open("/dev/full", O_WRONLY | O_CLOEXEC)
        try #require(descriptor >= 0)
        let trace = DownloadTrace(descriptor: descriptor, path: "full.trace")
        let resource = TestContent.first.resource()
        try await DownloaderRig.run(serving: resource, configure: { $0.telemetry.trace = trace }) { rig in
            try await rig.download()
            #expect(try rig.holdsOnly(.first))
        }
        #expect(await trace.close() == "The trace full.trace is incomplete: No space left on device.")
    }

    @Test func aDiskThatIsTooSlowEndsTheTraceAndNotTheDownload() async throws {
        let resource = TestContent.first.resource()
        try await DownloaderRig.run(
            serving: resource,
            configure: { configuration in
                let path = configuration.storage.stateFolder + ".trace"
                let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
                try #require(descriptor >= 0)
                configuration.telemetry.trace = DownloadTrace(descriptor: descriptor, path: "slow.trace", mostLines: 0)
            }
        ) { rig in
            try await rig.download()
            let sentence = await rig.configuration.telemetry.trace?.close()
            #expect(sentence == "The trace slow.trace is incomplete: the disk is too slow.")
            #expect(try TraceReplay.run(contentsOf: rig.configuration.storage.stateFolder + ".trace").steps == 0)
        }
    }

    @Test func replacesATraceAndNothingElse() async throws {
        try await DownloaderRig.run(serving: TestContent.first.resource()) { rig in
            let path = rig.folder + "/a.trace"
            for _ in 1...2 { #expect(try await DownloadTrace(path: path).close() == nil) }
            #expect(try rig.text(at: path).split(separator: "\n").count == 1)
            try rig.put("mine", at: path)
            #expect(throws: DownloadError(.fileExists, "\(path) exists already and is not a trace.")) {
                try DownloadTrace(path: path)
            }
            #expect(try rig.text(at: path) == "mine")
            #expect(throws: DownloadError.self) { try DownloadTrace(path: rig.folder) }
            #expect(throws: DownloadError.self) { try DownloadTrace(path: rig.folder + "/none/a.trace") }
        }
    }
}
