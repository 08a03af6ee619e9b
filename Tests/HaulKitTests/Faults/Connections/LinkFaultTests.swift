import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Line 10 of `docs/practice-list.md`: links that work once, and links that expire.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct LinkFaultTests {
    private let content = TestContent.first

    @Test func asksExactlyOnceForAnUndisturbedDownload() async throws {
        let resource = content.resource()
        let handler: DownloaderRig.Handler = { request in
            request.requestNumber == 1 ? resource.reply(to: request) : .empty(403, "Forbidden")
        }
        try await DownloaderRig.run(serving: handler) { rig in
            try await rig.download()
            #expect(try rig.holdsOnly(content))
            #expect(rig.server.requests.map(\.method) == ["GET"])
            #expect(rig.ranges == [nil])
        }
    }

    @Test(arguments: [401, 403, 404, 410])
    func keepsWhatCameOfALinkThatWorkedOnce(_ status: Int) async throws {
        let handler = content.resource().silentFirst { _ in .empty(status, "No") }
        try await DownloaderRig.run(serving: handler) { rig in
            let download = try await rig.paused(try rig.request(), at: cut)
            try await download.resume()
            let error = await #expect(throws: DownloadError.self) { try await download.result() }
            #expect(error?.code == .refusedByServer)
            #expect(error?.status == status)
            #expect(rig.server.requests.count == 2)
            #expect(try rig.names() == ["file.bin.haulpart"])
            #expect(try Array(rig.part().prefix(Int(cut))) == content.bytes(0..<cut))
        }
    }

    @Test(arguments: [401, 403, 404, 410])
    func renewsAnExpiredLinkAtTheOriginalURL(_ status: Int) async throws {
        let resource = content.resource()
        let tokens = CallCounter()
        let handler: DownloaderRig.Handler = { request in
            guard request.path == "/signed" else { return .redirect(to: "/signed?token=\(tokens.next())") }
            switch request.target {
            case "/signed?token=1": return resource.silent(after: cut).reply(to: request)
            // The link expires before its first use.
            case "/signed?token=2": return .empty(status, "Expired")
            default: return resource.reply(to: request)
            }
        }
        try await DownloaderRig.run(serving: handler) { rig in
            try await rig.interrupted()
            #expect(try rig.holdsOnly(content))
            #expect(
                rig.server.requests.map(\.target) == [
                    "/file.bin", "/signed?token=1", "/file.bin", "/signed?token=2", "/file.bin", "/signed?token=3",
                ]
            )
            #expect(rig.server.requests.last?["Range"] == "bytes=\(cut)-")
        }
    }

    @Test func doesNotRenewALinkForEver() async throws {
        let handler: DownloaderRig.Handler = { request in
            request.path == "/signed" ? .empty(403, "Forbidden") : .redirect(to: "/signed")
        }
        try await DownloaderRig.run(serving: handler) { rig in
            let error = try await rig.failure()
            #expect(error.status == 403)
            // The first attempt and two renewals, with two requests each.
            #expect(rig.server.requests.count == 6)
            #expect(try rig.names().isEmpty)
        }
    }

    @Test(arguments: [400, 401, 402, 403, 404, 405, 406, 409, 410, 411, 414, 415, 418, 421, 422, 451, 501, 505])
    func failsAtOnceWhenTheServerRefuses(_ status: Int) async throws {
        try await DownloaderRig.run(serving: { _ in .empty(status, "No") }) { rig in
            let error = try await rig.failure()
            #expect(error.code == .refusedByServer)
            #expect(error.status == status)
            #expect(rig.server.requests.count == 1)
            #expect(try rig.names().isEmpty)
        }
    }

    @Test func goesOnFromANewURLWhoseBytesAgree() async throws {
        let resource = content.resource()
        let handler: DownloaderRig.Handler = { request in
            request.path == "/old" ? resource.silent(after: cut).reply(to: request) : resource.reply(to: request)
        }
        try await DownloaderRig.run(serving: handler) { rig in
            _ = try await rig.paused(try rig.request("/old"), at: cut)
            let done = try await rig.reopened { try await $0.add(try rig.request("/new")).result() }
            #expect(done.bytes == content.count)
            #expect(try rig.holdsOnly(content))
            // The last bytes before the cut are requested again and compared.
            #expect(rig.hasComparedBlocks(before: cut))
        }
    }

    @Test func startsOverFromANewURLWhoseBytesDiffer() async throws {
        let first = content.resource()
        let other = TestContent.second.resource()
        let handler: DownloaderRig.Handler = { request in
            request.path == "/old" ? first.silent(after: cut).reply(to: request) : other.reply(to: request)
        }
        try await DownloaderRig.run(serving: handler) { rig in
            _ = try await rig.paused(try rig.request("/old"), at: cut)
            try await rig.reopened { next async throws in
                _ = try await next.add(try rig.request("/new")).result()
            }
            #expect(try rig.holdsOnly(.second))
        }
    }
}
