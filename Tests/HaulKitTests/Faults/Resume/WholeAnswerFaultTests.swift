import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Line 1 of `docs/practice-list.md`: a 200 to a request for the rest of a file.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct WholeAnswerFaultTests {
    private let first = TestContent.first
    private let second = TestContent.second

    @Test func startsOverWhenTheServerAnswers200ToARangeOfTheSameVersion() async throws {
        var deaf = first.resource()
        deaf.honoursRange = false
        let rest = deaf
        try await DownloaderRig.run(serving: deaf.silentFirst { rest.reply(to: $0) }) { rig in
            let done = try await rig.interrupted()
            #expect(done.bytes == first.count)
            #expect(try rig.holdsOnly(first))
            // One request with `If-Range`, and one without it in case the server mishandles the condition.
            #expect(rig.ranges == [nil, "bytes=\(cut)-", "bytes=\(cut)-"])
            #expect(rig.server.requests.map { $0["If-Range"] } == [nil, "\"v1\"", nil])
        }
    }

    @Test func startsOverWithTheOtherVersionWhenThe200BringsOne() async throws {
        let other = second.resource(etag: "\"v2\"")
        try await DownloaderRig.run(serving: first.resource().silentFirst { other.reply(to: $0) }) { rig in
            try await rig.interrupted()
            #expect(try rig.holdsOnly(second))
            #expect(rig.ranges == [nil, "bytes=\(cut)-"])
        }
    }

    @Test(arguments: [1, 149_999, 150_000, 150_001, 5_000_000])
    func startsOverWithAnotherVersionOfWhateverLength(_ count: Int64) async throws {
        let content = TestContent(seed: 3, count: count)
        let other = content.resource(etag: "\"v2\"")
        try await DownloaderRig.run(serving: first.resource().silentFirst { other.reply(to: $0) }) { rig async throws in
            #expect(try await rig.interrupted().bytes == count)
            #expect(try rig.holdsOnly(content))
        }
    }

    @Test func startsOverOnA200WithAnotherDate() async throws {
        let dated = first.resource(etag: nil, lastModified: "Sun, 06 Nov 1994 08:49:37 GMT")
        let later = second.resource(etag: nil, lastModified: "Mon, 07 Nov 1994 08:49:37 GMT")
        let whole = dated.silentFirst { request in
            var later = later
            later.honoursRange = false
            return later.reply(to: request)
        }
        try await DownloaderRig.run(serving: whole) { rig in
            try await rig.interrupted()
            #expect(try rig.holdsOnly(second))
            // The answer to the first block already shows the other version.
            #expect(rig.ranges == [nil, "bytes=0-16383"])
        }
    }

    @Test func asksForTheWholeFileOnceRangesHaveFailed() async throws {
        let resource = first.resource()
        let handler = resource.silentFirst { request in
            var deaf = resource
            deaf.honoursRange = false
            // The body that starts the file over breaks off as well, after another length than the first one.
            guard request.requestNumber == 3 else { return deaf.reply(to: request) }
            return deaf.silent(after: 20_000).reply(to: request)
        }
        try await DownloaderRig.run(serving: handler) { rig in
            let download = try await rig.paused(try rig.request(), at: cut)
            try await download.resume()
            await download.falls(to: 20_000)
            try await download.pause()
            try await download.resume()
            _ = try await download.result()
            #expect(try rig.holdsOnly(first))
            #expect(rig.ranges == [nil, "bytes=\(cut)-", "bytes=\(cut)-", nil])
        }
    }

    /// A body without a length ends where the connection does. An earlier answer of the same version has named a
    /// greater length, so bytes are missing.
    @Test func takesNoCutBodyForAFileWhoseLengthIsKnown() async throws {
        let half = first.count / 2
        let unframed: DownloaderRig.Handler = { [first] _ in
            let head = TestStep.head(status: 200, reason: "OK", headers: [("ETag", "\"v1\""), ("Connection", "close")])
            return TestReply([head, .body(0..<half, of: first), .close])
        }
        try await DownloaderRig.run(serving: first.resource().silentFirst(then: unframed)) { rig in
            let download = try await rig.paused(try rig.request(), at: cut)
            try await download.resume()
            let error = await #expect(throws: DownloadError.self) { try await download.result() }
            #expect(error?.code == .connectionLost)
            #expect(try rig.names() == ["file.bin.haulpart"])
        }
    }

    /// A wrong length of one answer would otherwise make every later body of that version too short.
    @Test func forgetsALengthThatALaterAnswerContradicts() async throws {
        let handler: DownloaderRig.Handler = { [first] request in
            let isFirst = request.requestNumber == 1
            guard isFirst || request.range == nil else { return first.resource().reply(to: request) }
            var fields = [("ETag", "\"v1\""), ("Connection", "close")]
            if isFirst { fields.append(("Content-Length", "\(2 * first.count)")) }
            let head = TestStep.head(status: 200, reason: "OK", headers: fields)
            return TestReply([head, .body(0..<(isFirst ? cut : first.count), of: first), .close])
        }
        try await DownloaderRig.run(serving: handler) { rig in
            let download = try await rig.downloader.add(try rig.request())
            _ = try await download.result()
            #expect(try rig.holdsOnly(first))
        }
    }

    @Test func keepsTheOldBytesAndFailsWhenAChangeIsNotWanted() async throws {
        let other = second.resource(etag: "\"v2\"")
        try await DownloaderRig.run(serving: first.resource().silentFirst { other.reply(to: $0) }) { rig in
            let download = try await rig.paused(try rig.request { $0.failsOnChange = true }, at: cut)
            try await download.resume()
            let error = await #expect(throws: DownloadError.self) { try await download.result() }
            #expect(error?.code == .contentChanged)
            #expect(try rig.names() == ["file.bin.haulpart"])
            #expect(try Array(rig.part().prefix(Int(cut))) == first.bytes(0..<cut))
        }
    }
}

extension Download {
    /// Returns once exactly `count` bytes have arrived, or the run has ended.
    func falls(to count: Int64) async {
        for await event in events {
            switch event {
            case .changed(let snapshot), .progressed(let snapshot):
                if snapshot.receivedBytes == count, snapshot.state == .transferring { return }
            case .ended: return
            }
        }
    }
}
