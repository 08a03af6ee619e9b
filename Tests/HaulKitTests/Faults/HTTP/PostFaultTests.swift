import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Files that a server makes in answer to a POST.
@Suite(.timeLimit(.minutes(60)))
struct PostFaultTests {
    private let content = TestContent.first
    private static let body = Data(#"{"id":7}"#.utf8)
    private static let method = DownloadRequest.Method.post(body: body, type: "application/json")

    /// Returns a handler that answers a POST as `handler` answers a GET.
    private func forPosts(_ handler: @escaping DownloaderRig.Handler) -> DownloaderRig.Handler {
        { request in
            handler(
                TestRequest(target: request.target, headers: request.headers, requestNumber: request.requestNumber)
            )
        }
    }

    /// Serves the file in answer to a POST.
    private var served: DownloaderRig.Handler {
        let resource = content.resource()
        return forPosts { resource.reply(to: $0) }
    }

    /// Returns whether every request is the expected POST.
    private func arePosts(_ requests: [TestRequest]) -> Bool {
        requests.allSatisfy {
            $0.method == "POST" && $0["Content-Type"] == "application/json" && $0["Content-Length"] == "8"
        }
    }

    @Test func sendsTheBodyAndItsType() async throws {
        try await DownloaderRig.run(serving: served) { rig async throws in
            try await rig.download { $0.method = Self.method }
            #expect(try rig.holdsOnly(content))
            #expect(rig.server.requests.count == 1 && arePosts(rig.server.requests))
        }
    }

    @Test func resumesUnderAStrongTag() async throws {
        try await DownloaderRig.run(serving: forPosts(content.resource().silentFirst())) { rig async throws in
            try await rig.interrupted { $0.method = Self.method }
            #expect(try rig.holdsOnly(content))
            #expect(rig.ranges == [nil, "bytes=\(cut)-"] && arePosts(rig.server.requests))
            #expect(rig.server.requests.last?["If-Range"] != nil)
        }
    }

    @Test func startsOverWithoutAStrongTag() async throws {
        var resource = content.resource()
        resource.etag = "W/\"weak\""
        try await DownloaderRig.run(serving: forPosts(resource.silentFirst())) { rig async throws in
            try await rig.interrupted {
                $0.method = Self.method
                $0.resumesUnverified = true
            }
            #expect(try rig.holdsOnly(content))
            #expect(rig.ranges == [nil, nil] && arePosts(rig.server.requests))
        }
    }

    @Test func asksOverOneConnection() async throws {
        try await DownloaderRig.run(
            configure: { settings in
                settings.connections.maxPerDownload = 8
                settings.connections.initial = 4
            },
            serving: served
        ) { rig async throws in
            try await rig.download {
                $0.method = Self.method
                $0.maxConnections = 8
            }
            #expect(rig.server.requests.count == 1)
        }
    }

    @Test(arguments: [301, 302, 303, 307, 308])
    func followsARedirectAsItsStatusSays(_ status: Int) async throws {
        let served = served
        let handler: DownloaderRig.Handler = { request in
            request.path == "/file.bin" ? .redirect(to: "/there", status: status) : served(request)
        }
        try await DownloaderRig.run(serving: handler) { rig async throws in
            try await rig.download { $0.method = Self.method }
            #expect(try rig.holdsOnly(content))
            let methods = rig.server.requests.map(\.method)
            #expect(methods == ["POST", status >= 307 ? "POST" : "GET"])
            #expect((rig.server.requests.last?["Content-Type"] == nil) == (status < 307))
        }
    }

    @Test func givesTheBodyToNoOtherOrigin() async throws {
        try await DownloaderRig.run(
            others: [served],
            serving: { _, others in .redirect(to: others[0].url("/there"), status: 307) }
        ) { rig async throws in
            let error = try await rig.failure { $0.method = Self.method }
            #expect(error.code == .refusedByServer && error.status == 307)
            #expect(rig.others[0].requests.isEmpty)
        }
    }

    @Test func anotherBodyIsAnotherDownload() async throws {
        try await DownloaderRig.run(serving: served) { rig async throws in
            let bodies = ["1", "2", "1"].map { DownloadRequest.Method.post(body: Data($0.utf8), type: "text/plain") }
            let requests = try bodies.map { method in
                try rig.request {
                    $0.destination = .folder(path: rig.folder)
                    $0.method = method
                }
            }
            let first = try await rig.downloader.add(requests).map { try $0.get() }
            for download in first { _ = try await download.result() }
            #expect(first[0].id == first[2].id && first[0].id != first[1].id)
            let again = try await rig.downloader.add(requests[0])
            #expect(again.id == first[0].id)
            #expect(try rig.names() == ["file (1).bin", "file.bin"])
            #expect(rig.server.requests.count == 2)
        }
    }

    @Test func isKeptInTheStore() async throws {
        try await DownloaderRig.run(serving: forPosts(content.resource().silentFirst())) { rig async throws in
            let request = try rig.request { $0.method = Self.method }
            let download = try await rig.paused(request, at: cut)
            try await rig.reopened { next async throws in
                #expect(try await next.find(id: download.id)?.request()?.method == Self.method)
                _ = try await next.add(request).result()
                #expect(try rig.holdsOnly(content))
                #expect(rig.server.requests.count == 2 && arePosts(rig.server.requests))
            }
        }
    }

    @Test func refusesATypeThatIsNoFieldValue() async throws {
        try await DownloaderRig.run(serving: served) { rig async throws in
            let error = await #expect(throws: DownloadError.self) {
                try await rig.downloader.add(
                    try rig.request { $0.method = .post(body: Self.body, type: "a\r\nX: y") }
                )
            }
            #expect(error?.code == .invalidHeader)
        }
    }
}
