import Foundation
import HaulTesting
import Synchronization

@testable import HaulCore
@testable import HaulKit

/// The files of a server of streams, which a test changes between requests.
final class StreamSite: Sendable {
    private struct State {
        var files: [String: [UInt8]] = [:]
        var handlers: [String: DownloaderRig.Handler] = [:]
    }
    private let state = Mutex(State())

    /// Path of the playlist of most tests.
    static let list = "/talk/list.m3u8"

    init(_ files: [String: [UInt8]] = [:]) { state.withLock { $0.files = files } }

    /// Makes a site with a playlist of plain segments in its folder: `0.ts`, `1.ts` and so on.
    convenience init(_ film: TestStream) {
        self.init()
        for (number, segment) in film.segments.enumerated() { put(segment, at: "/talk/\(number).ts") }
        put(TestStream.playlist(film.segments.indices.map { TestStream.entry("\($0).ts") }), at: Self.list)
    }

    func put(_ bytes: [UInt8], at path: String) { state.withLock { $0.files[path] = bytes } }
    func put(_ text: String, at path: String) { put(Array(text.utf8), at: path) }
    func remove(_ path: String) { state.withLock { $0.files[path] = nil } }

    /// Lets a handler answer the requests for a path; `nil` for the file again.
    func answer(_ path: String, _ handler: DownloaderRig.Handler?) { state.withLock { $0.handlers[path] = handler } }

    func bytes(at path: String) -> [UInt8]? { state.withLock { $0.files[path] } }

    func reply(to request: TestRequest) -> TestReply {
        let handler: DownloaderRig.Handler? = state.withLock { $0.handlers[request.path] }
        return handler?(request) ?? file(request)
    }

    /// Answers with the file, whatever the handlers are.
    func file(_ request: TestRequest) -> TestReply {
        guard let bytes = bytes(at: request.path) else { return .empty(404, "Not Found") }
        return TestContent(bytes).resource(etag: nil).reply(to: request)
    }

    /// Runs a test with a server of this site.
    func run(
        others: [DownloaderRig.Handler] = [],
        configure: (inout Downloader.Configuration) throws -> Void = { _ in },
        _ test: (DownloaderRig) async throws -> Void
    ) async throws {
        try await DownloaderRig.run(
            others: others,
            configure: configure,
            serving: { request, _ in self.reply(to: request) },
            test
        )
    }
}

/// The segments of a film.
struct TestStream: Sendable {
    var segments: [[UInt8]]

    /// The segments one behind another.
    var film: [UInt8] { segments.flatMap(\.self) }
    var content: TestContent { TestContent(film) }

    /// - Parameter seed: films of other seeds have other bytes.
    init(_ count: Int, packets: Int = 20, seed: UInt8 = 1) {
        segments = (0..<count).map { Self.segment($0, packets: packets, seed: seed) }
    }

    /// Returns a segment of transport stream packets, which begins with the tables of programs (ISO/IEC 13818-1
    /// §2.4.4).
    static func segment(_ number: Int, packets: Int = 20, seed: UInt8 = 1) -> [UInt8] {
        let association: [UInt8] = [0, 0x00, 0xB0, 0x0D, 0, 1, 0xC1, 0, 0, 0, 1, 0xE1, 0x00, 0, 0, 0, 0]
        let map: [UInt8] = [
            0, 0x02, 0xB0, 0x12, 0, 1, 0xC1, 0, 0, 0xE1, 0x01, 0xF0, 0, 0x1B, 0xE1, 0x01, 0xF0, 0, 0, 0, 0, 0,
        ]
        let pictures = (0..<max(0, packets - 2)).flatMap { index in
            packet(0x101, [seed, UInt8(truncatingIfNeeded: number), UInt8(truncatingIfNeeded: index)])
        }
        return packet(0, association) + packet(0x100, map) + pictures
    }

    private static func packet(_ identifier: UInt16, _ payload: [UInt8]) -> [UInt8] {
        let head = [0x47, 0x40 | UInt8(identifier >> 8), UInt8(truncatingIfNeeded: identifier), 0x10]
        return head + payload + [UInt8](repeating: 0xFF, count: 184 - payload.count)
    }

    /// Returns a media playlist.
    ///
    /// - Parameter entries: lines of segments; each may be several lines.
    static func playlist(_ entries: [String], first: Int = 0, target: Int = 4, ends: Bool = true) -> String {
        let head = ["#EXTM3U", "#EXT-X-VERSION:7", "#EXT-X-TARGETDURATION:\(target)", "#EXT-X-MEDIA-SEQUENCE:\(first)"]
        return (head + entries + (ends ? ["#EXT-X-ENDLIST"] : [])).joined(separator: "\n") + "\n"
    }

    static func entry(_ reference: String, _ seconds: Int = 4) -> String { "#EXTINF:\(seconds),\n\(reference)" }
}

extension DownloaderRig {
    /// The paths of all requests from the `first`-th on, counted from 0.
    func paths(from first: Int = 0) -> [String] { server.requests.dropFirst(first).map(\.path) }

    /// Returns a request for the playlist at `target` that makes a transport stream without ffmpeg.
    func film(
        _ target: String = StreamSite.list,
        _ change: (inout DownloadRequest.Stream) -> Void = { _ in }
    ) throws -> DownloadRequest {
        try request(target) { request in
            var stream = DownloadRequest.Stream()
            stream.container = .transportStream
            change(&stream)
            request.stream = stream
        }
    }

    /// Whether nothing but the partial file is there.
    func holdsOnlyPart() throws -> Bool { try names() == ["file.bin.haulpart"] }
}

extension Downloader {
    /// Ends the recording of a live film in order.
    func finishFilm(_ id: DownloadID) { catalog.tasks[id]?.connections.film?.finish() }
}
