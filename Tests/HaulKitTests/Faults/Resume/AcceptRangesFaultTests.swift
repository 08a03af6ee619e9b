import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Lines 7 and 8 of `docs/practice-list.md`: statements of a server about its ranges, and unrequested content codings.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct AcceptRangesFaultTests {
    private let content = TestContent.first

    @Test(arguments: ["none", nil, "bytes, none", "pages"] as [String?])
    func resumesWhateverAcceptRangesSays(_ advice: String?) async throws {
        var resource = content.resource()
        resource.acceptRanges = advice
        try await DownloaderRig.run(serving: resource.silentFirst()) { rig in
            try await rig.interrupted()
            #expect(try rig.holdsOnly(content))
            #expect(rig.ranges == [nil, "bytes=\(cut)-"])
        }
    }

    @Test func startsOverWhereTheServerPromisedRangesButHasNone() async throws {
        var resource = content.resource(etag: nil, lastModified: "Sun, 06 Nov 1994 08:49:37 GMT")
        resource.honoursRange = false
        try await DownloaderRig.run(serving: resource.silentFirst()) { rig in
            try await rig.interrupted()
            #expect(try rig.holdsOnly(content))
            // The server answers the request for the first block with the whole file.
            #expect(rig.ranges == [nil, "bytes=0-16383"])
        }
    }

    @Test func asksForNoCoding() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            try await rig.download { request in
                request.headers = ["Accept-Encoding: gzip, br", "Range: bytes=5-"].compactMap { HeaderField($0) }
            }
            #expect(rig.server.requests.map { $0["Accept-Encoding"] } == ["identity"])
            #expect(rig.ranges == [nil])
            #expect(try rig.holdsOnly(content))
        }
    }

    @Test(arguments: ["gzip", "br", "deflate", "x-unknown"])
    func keepsACodedBodyAsItWasSent(_ coding: String) async throws {
        var coded = content.resource()
        coded.extraHeaders = [("Content-Encoding", coding)]
        try await DownloaderRig.run(serving: coded) { rig in
            try await rig.download("/archive.tar.gz") { $0.destination = .folder(path: rig.folder) }
            #expect(try rig.holdsOnly(content, named: "archive.tar.gz"))
        }
    }

    @Test func doesNotResumeACodedBody() async throws {
        var coded = content.resource()
        coded.extraHeaders = [("Content-Encoding", "gzip")]
        try await DownloaderRig.run(serving: coded.silentFirst()) { rig in
            try await rig.interrupted()
            #expect(try rig.holdsOnly(content))
            #expect(rig.ranges == [nil, nil])
        }
    }

    @Test func doesNotJoinACodedPartToAPlainOne() async throws {
        let plain = content.resource()
        var coded = plain
        coded.extraHeaders = [("Content-Encoding", "gzip")]
        let second = coded
        let handler = plain.silentFirst { $0.requestNumber == 2 ? second.reply(to: $0) : plain.reply(to: $0) }
        try await DownloaderRig.run(serving: handler) { rig in
            try await rig.interrupted()
            #expect(try rig.holdsOnly(content))
            #expect(rig.ranges == [nil, "bytes=\(cut)-", nil])
        }
    }

    @Test func resumesABodyWhoseCodingIsNamedIdentity() async throws {
        var plain = content.resource()
        plain.extraHeaders = [("Content-Encoding", "identity")]
        try await DownloaderRig.run(serving: plain.silentFirst()) { rig in
            try await rig.interrupted()
            #expect(try rig.holdsOnly(content))
            #expect(rig.ranges == [nil, "bytes=\(cut)-"])
        }
    }
}
