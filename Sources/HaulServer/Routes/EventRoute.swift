internal import Foundation
internal import HTTPTypes
internal import HaulKit
internal import Hummingbird
internal import Logging
internal import NIOCore

/// Route of the event stream, `GET /api/v1/events`.
struct EventRoute {
    let services: Services
    private let snapshots = SharedSnapshot()
    static let ping = Duration.seconds(15)

    private struct Hello: Encodable {
        var boot: String
        var rev: String
        var now: String
        var ping = 15
        /// Whether films and music can be played while they are downloaded.
        var playing: Bool
        var version = Downloader.version
    }
    private struct Snapshot: Encodable {
        var rows: [DownloadRow]
        var part: Int
        var of: Int
        var total: Int
    }
    private struct Nothing: Encodable {}
    private struct Bye: Encodable {
        var reason: String
    }
    /// Reason for the next frames of a stream.
    private enum Wake {
        /// The time between two pings has passed.
        case ping
        /// Rows, totals or notices may have changed.
        case change
    }

    init(services: Services) { self.services = services }

    func add(to routes: RouteTable) {
        // Answers HEAD without a listener. ``RouteTable`` would otherwise call the handler of GET, which adds one.
        routes.head("/api/v1/events") { _, _ in Response(status: .ok, headers: Self.headers) }
        routes.get("/api/v1/events") { request, context in
            var query = try Query(request)
            let since = try query.text("since")
            try query.finish()
            let position = request.headers.text("Last-Event-ID") ?? since
            guard let (number, wakes) = await services.feed.listen(limit: services.configuration.maxEventStreams) else {
                throw Problem(
                    .serviceUnavailable,
                    "tooManyStreams",
                    "There are \(services.configuration.maxEventStreams) event streams already.",
                    retryAfter: 5
                )
            }
            return Response(
                status: .ok,
                headers: Self.headers,
                body: .init { writer in
                    let feed = services.feed
                    await feed.began(number)
                    var session: (name: String, stream: Int)?
                    if let name = context.session {
                        session = (
                            name, await services.sessions.attach(name) { Task { await feed.stopListening(number) } }
                        )
                    }
                    let body = SendableWriter(writer)
                    do {
                        try await request.body.consumeWithCancellationOnInboundClose { _ in
                            try await send(wakes, position, to: body)
                        }
                    } catch { services.logger.debug("event stream: \(error)") }
                    await feed.stopListening(number)
                    if let session { await services.sessions.detach(session.name, session.stream) }
                    // Finishes the body normally even if the stream failed, because the connection closes afterwards.
                    try await writer.finish(nil)
                }
            )
        }
    }

    private static var headers: HTTPFields {
        var headers: HTTPFields = [
            .contentType: "text/event-stream; charset=utf-8", .cacheControl: "no-store, no-transform",
        ]
        headers.set("X-Accel-Buffering", "no")
        return headers
    }

    /// Sends events until the listener is removed, or the client is gone or reads too slowly.
    private func send(_ wakes: AsyncStream<Void>, _ position: String?, to writer: SendableWriter) async throws {
        let output = ListenerWriter(writer)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await stream(wakes, position, to: output) }
            group.addTask { try await output.throwWhenLate() }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private func stream(_ wakes: AsyncStream<Void>, _ position: String?, to output: ListenerWriter) async throws {
        let start = try await begin(position, output)
        try await withThrowingTaskGroup(of: Void.self) { group in
            // Merges pings and wakes into one stream for one task, so that a ping is written only between frames.
            let (merged, continuation) = AsyncStream.makeStream(of: Wake.self, bufferingPolicy: .bufferingNewest(2))
            group.addTask {
                while true {
                    try await Task.sleep(for: Self.ping)
                    continuation.yield(.ping)
                }
            }
            group.addTask {
                for await _ in wakes { continuation.yield(.change) }
                continuation.finish()
            }
            defer { group.cancelAll() }
            try await follow(merged, since: start, output)
        }
    }

    /// Sends the first frames: `hello`, then the rows of ``snapshot()``. A client that names a position of an earlier
    /// stream gets no rows. If the changes since that position are no longer known, the client gets `reset`.
    ///
    /// - Returns: the revision after which the client needs the changes.
    private func begin(_ position: String?, _ output: ListenerWriter) async throws -> UInt64 {
        let feed = services.feed
        let shared = position == nil ? try await snapshots.frames { try await snapshot() } : nil
        var seen = await feed.revision
        if let shared { seen = shared.revision }
        let hello = Hello(
            boot: feed.boot,
            rev: feed.position(of: seen),
            now: Timestamp.text(Date()),
            playing: services.configuration.playsUnfinished
        )
        var first = ByteBuffer(string: "retry: 2000\n")
        first.writeImmutableBuffer(EventFrame.frame("hello", hello, id: hello.rev))
        try await output.write(first)
        if let position {
            if let known = await feed.revision(of: position) {
                seen = known
            } else {
                try await output.write(EventFrame.frame("reset", Nothing(), id: hello.rev))
            }
        } else if let shared {
            for frame in shared.frames { try await output.write(frame) }
        }
        return seen
    }

    /// Sends the changes since a revision, at once and at each wake. Also sends pings, totals and notices, and `bye` at
    /// the end of the stream.
    private func follow(_ wakes: AsyncStream<Wake>, since start: UInt64, _ output: ListenerWriter) async throws {
        let feed = services.feed
        var seen = start
        var totals: UInt64 = 0
        var told = await feed.noticeCount
        if let frame = await feed.delta(since: seen) {
            if let bytes = frame.frame { try await output.write(bytes) }
            seen = frame.revision
        }
        for await wake in wakes {
            if wake == .ping { try await output.write(EventFrame.frame("ping", Nothing())) }
            if let next = await feed.delta(since: seen) {
                if let frame = next.frame { try await output.write(frame) }
                seen = next.revision
            } else {
                // The client read so slowly that its missed changes are no longer known. `reset` makes it read the
                // lists again.
                seen = await feed.revision
                try await output.write(EventFrame.frame("reset", Nothing(), id: await feed.position))
            }
            if let next = await feed.totals(since: totals) {
                try await output.write(next.frame)
                totals = next.revision
            }
            let count = await feed.noticeCount
            if count > told {
                for frame in await feed.notices(after: told) { try await output.write(frame) }
                told = count
            }
        }
        let reason = await feed.isEnding ? "shutdown" : "signedOut"
        try await output.write(EventFrame.frame("bye", Bye(reason: reason)))
    }

    /// Makes a snapshot: up to 1,800 unfinished downloads, then the newest 200 completed ones, in parts of 500 rows.
    private func snapshot() async throws -> SharedSnapshot.Frames {
        let downloader = services.downloader
        // Reads the revision before the rows, so that changes made meanwhile are reported again.
        let revision = await services.feed.revision
        let rev = services.feed.position(of: revision)
        let (rows, total) = try await problems { () throws(DownloadError) in
            let states = Set(DownloadSnapshot.State.allCases).subtracting([.completed, .cancelled])
            let active = DownloadSnapshot.State.active
            var rows = try await downloader.list(DownloadFilter(states: active, order: .queue, limit: 1800))
            let idle = DownloadFilter(
                states: states.subtracting(active),
                order: .queue,
                limit: max(0, 1800 - rows.count)
            )
            rows += try await downloader.list(idle)
            rows += try await downloader.list(
                DownloadFilter(states: [.completed], order: .ended, isDescending: true, limit: 200)
            )
            return (rows, try await downloader.count())
        }
        let parts = max(1, (rows.count + 499) / 500)
        let frames = (0..<parts).map { part in
            let slice = rows[min(rows.count, part * 500)..<min(rows.count, (part + 1) * 500)]
            let body = Snapshot(rows: slice.map { DownloadRow($0) }, part: part + 1, of: parts, total: total)
            return EventFrame.frame("snapshot", body, id: rev)
        }
        Task { [snapshots] in
            do { try await Task.sleep(for: .seconds(2)) } catch { services.logger.debug("cancelled: \(error)") }
            await snapshots.forgetOld()
        }
        return .init(revision: revision, frames: frames, madeAt: .now)
    }
}
