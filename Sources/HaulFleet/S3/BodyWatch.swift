internal import NIOCore
internal import Synchronization

/// Ends a request whose peer has stopped reading the body.
///
/// AsyncHTTPClient limits the silence before and within a response. It has no timer while a streamed body waits for the
/// connection to accept more bytes. Only the deadline of the whole request would apply, which is long for a long body.
final class BodyWatch: Sendable {
    struct Silence: Error {}

    private enum State {
        /// The client last asked for more of the body at this time.
        case sending(ContinuousClock.Instant)
        case sent
    }
    private let state = Mutex(State.sending(.now))

    fileprivate func moved() { state.withLock { $0 = .sending(.now) } }
    fileprivate func ended() { state.withLock { $0 = .sent } }

    /// Runs `request` and cancels it if the connection stops asking for the body.
    ///
    /// - Throws: ``Silence`` if the client asks for no more of the body within `limit`.
    func ending<Answer: Sendable>(
        afterSilenceOf limit: Duration,
        _ request: @escaping @Sendable () async throws -> Answer
    ) async throws -> Answer {
        try await withThrowingTaskGroup(of: Answer?.self) { group in
            group.addTask { try await request() }
            group.addTask {
                try await self.silence(of: limit)
                return nil
            }
            defer { group.cancelAll() }
            while let result = try await group.next() {
                if let result { return result }
            }
            throw CancellationError()
        }
    }

    /// Returns when the whole body is sent.
    private func silence(of limit: Duration) async throws {
        while case .sending(let last) = state.withLock(\.self) {
            guard last.duration(to: .now) < limit else { throw Silence() }
            try await Task.sleep(until: last + limit)
        }
    }
}

/// A file region as a request body that reports its progress to a ``BodyWatch``.
struct WatchedBody: AsyncSequence, Sendable {
    private let region: FileRegion
    private let watch: BodyWatch

    init(_ region: FileRegion, _ watch: BodyWatch) { (self.region, self.watch) = (region, watch) }

    func makeAsyncIterator() -> Iterator { Iterator(region: region.makeAsyncIterator(), watch: watch) }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate var region: FileRegion.Iterator
        fileprivate let watch: BodyWatch

        mutating func next() async throws -> ByteBuffer? {
            watch.moved()
            let buffer = try await region.next()
            if buffer == nil { watch.ended() }
            return buffer
        }
    }
}
